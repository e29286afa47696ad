"""Every word that names something in a table: noise must not turn one into another."""

from __future__ import annotations

from training.corpus.fact_tables import DAYS, MONTHS
from training.corpus.instructions import LISTS
from training.corpus.tables.animals import ANIMALS, SOUNDS, YOUNG
from training.corpus.tables.countries import ADJECTIVES, CAPITALS
from training.corpus.tables.nature import COLOURS, ELEMENTS
from training.corpus.tables.numbers import SMALL, TENS
from training.corpus.tables.rhymes import RHYMES
from training.corpus.tables.vocabulary import OPPOSITES, PLURALS

_NAMES = (
    *CAPITALS,
    *CAPITALS.values(),
    *ADJECTIVES.values(),
    *ANIMALS,
    *SOUNDS.values(),
    *YOUNG.values(),
    *COLOURS,
    *ELEMENTS,
    *OPPOSITES,
    *PLURALS,
    *PLURALS.values(),
    *DAYS,
    *MONTHS,
    *SMALL,
    *TENS,
    *LISTS,
    *RHYMES,
)
LEXICON = frozenset(word.lower() for name in _NAMES for word in name.split() if word not in ("the", "of", "and", "a"))

"""A question in the middle of talk, one with a remark on its manner, and one beside a question that is rejected."""

from __future__ import annotations

from random import Random

from training.corpus.fact_tables import DAYS, MONTHS
from training.corpus.phrasing import with_articles
from training.corpus.tables import contexts
from training.corpus.tables.animals import ANIMALS, plural
from training.corpus.tables.countries import CAPITALS
from training.corpus.tables.nature import ELEMENTS
from training.corpus.tables.vocabulary import OPPOSITES
from training.corpus.wording.chat_frames import uncapitalised
from training.corpus.wording.grammar import Grammar
from training.corpus.wording.reserved import RESERVED
from training.corpus.words import CITIES, COLOUR_WORDS, COUNTED, NAMES

SENTENCES = Grammar.read(contexts.SENTENCES, reserved=RESERVED)
BRIDGES = Grammar.read(contexts.BRIDGES, reserved=RESERVED)
SITUATIONS = Grammar.read(contexts.SITUATIONS, reserved=RESERVED)
SITUATIONS_WITH_CLOSE = Grammar.read(contexts.SITUATIONS_WITH_CLOSE, reserved=RESERVED)
MANNERS = Grammar.read(contexts.MANNERS, reserved=RESERVED)
MANNERS_WITH_CLOSE = Grammar.read(contexts.MANNERS_WITH_CLOSE, reserved=RESERVED)
REJECTED_FIRST = Grammar.read(contexts.REJECTED_FIRST, reserved=RESERVED)
REJECTED_LAST = Grammar.read(contexts.REJECTED_LAST, reserved=RESERVED)
BRIDGE_RATE = 0.55
SITUATION_RATE = 0.3
_WORDS = {
    "country": tuple(CAPITALS),
    "city": CITIES,
    "animal": ANIMALS,
    "animals": tuple(plural(animal) for animal in ANIMALS),
    "colour": COLOUR_WORDS,
    "day": DAYS,
    "month": MONTHS,
    "element": tuple(ELEMENTS),
    "word": tuple(OPPOSITES),
    "name": NAMES,
    "things": COUNTED,
    "n": tuple(str(number) for number in range(2, 100)),
}


def filled(text: str, rng: Random) -> str:
    """The text with a word for every placeholder; one that ends in 2 differs from the one without."""
    for name, words in _WORDS.items():
        if f"{{{name}" in text:
            first, second = rng.choice(words), rng.choice(words)
            while second == first:
                second = rng.choice(words)
            text = text.replace(f"{{{name}}}", first).replace(f"{{{name}2}}", second)
    return text


def _context(rng: Random, held_out: bool) -> str:
    text = with_articles(filled(SENTENCES.say(rng, held_out), rng))
    return text if text[-1] in ".!?" else f"{text}."


def in_context(question: str, rng: Random, held_out: bool = False, only_before: bool = False) -> str:
    """The question inside a situation, or after, before or between one to four sentences of talk."""
    if not held_out and rng.random() < SITUATION_RATE:
        return _in_situation(question, rng, only_before)
    after = 0 if only_before else rng.choices((0, 1, 2), (6, 3, 1))[0]
    before = rng.choices((0, 1, 2, 3, 4), (0 if after == 0 else 3, 5, 4, 2, 1))[0]
    new = rng.randrange(before + after) if held_out else -1
    sentences = [_context(rng, place == new) for place in range(before + after)]
    text = question
    if before and rng.random() < BRIDGE_RATE:
        bridge = BRIDGES.say(rng)
        text = f"{bridge} {text if bridge[-1] in '.!?' else uncapitalised(text)}"
    if after and text[-1] not in "?.!":
        text += rng.choice("??.")
    return " ".join((*sentences[:before], text, *sentences[before:]))


def _in_situation(question: str, rng: Random, only_before: bool) -> str:
    is_last = only_before or rng.random() < 0.5
    text = (SITUATIONS if is_last else SITUATIONS_WITH_CLOSE).say(rng)
    while only_before and not text.endswith(("{q}", "{u}")):
        text = SITUATIONS.say(rng)
    ended = question if question[-1] in "?.!" or text.endswith(("{q}", "{u}")) else f"{question}?"
    return filled(text, rng).replace("{q}", ended).replace("{u}", uncapitalised(ended))


def in_manner(question: str, rng: Random, held_out: bool = False, only_before: bool = False) -> str:
    """The question with a remark on how it is meant, or how not to answer it."""
    is_last = only_before or (not held_out and rng.random() < 0.6)
    text = (MANNERS if is_last else MANNERS_WITH_CLOSE).say(rng, held_out)
    ended = question if question[-1] in "?.!" or is_last else f"{question}?"
    return text.replace("{q}", ended).replace("{u}", uncapitalised(ended))


def rejecting(question: str, rejected: str, rng: Random, held_out: bool = False, only_before: bool = False) -> str:
    """The question beside another one that must not be answered."""
    frames = REJECTED_FIRST if only_before or rng.random() < 0.66 else REJECTED_LAST
    text = frames.say(rng, held_out)
    while only_before and text.endswith('"'):
        text = frames.say(rng, held_out)
    text = filled(text, rng)
    ended = question if only_before or question[-1] in "?.!" else f"{question}?"
    other = rejected if rejected[-1] in "?.!" else f"{rejected}?"
    for name, asked in (("{q}", ended), ("{u}", uncapitalised(ended)), ("{r}", other)):
        text = text.replace(name, asked)
    return text

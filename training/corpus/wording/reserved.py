"""The wordings that the evaluation set of templates holds out, so that no grammar trains on them."""

from __future__ import annotations

from collections.abc import Sequence

from training.corpus import arithmetic, facts, followups, instructions, smalltalk, stories, unknown
from training.corpus.phrasing import HELD_OUT_CARRIERS, Wordings
from training.corpus.wording.grammar import normalised

_LISTS: tuple[Sequence[str] | Wordings, ...] = (
    *(relation.questions for relation in facts.RELATIONS),
    *(intent.ways for intent in smalltalk.INTENTS),
    smalltalk.INTRODUCTIONS,
    arithmetic.SUM_QUESTIONS,
    arithmetic.DIFFERENCE_QUESTIONS,
    arithmetic.PRODUCT_QUESTIONS,
    instructions.LIST_QUESTIONS,
    instructions.TIMES_QUESTIONS,
    instructions.ECHO_QUESTIONS,
    instructions.COUNT_QUESTIONS,
    instructions.COUNT_TO_QUESTIONS,
    instructions.RHYME_QUESTIONS,
    instructions.UPPERCASE_QUESTIONS,
    followups.AND_OF,
    followups.AGAIN,
    followups.WHO_AM_I,
    followups.AND_PLUS,
    followups.SAME_IN_UPPERCASE,
    stories.QUESTIONS,
    stories.NAMELESS_QUESTIONS,
    stories.OPEN_QUESTIONS,
    unknown.OPEN_QUESTIONS,
    unknown.QUESTIONS,
)


def _held_out() -> frozenset[str]:
    texts = [carrier.replace("{u}", "{q}") for carrier in HELD_OUT_CARRIERS]
    for templates in _LISTS:
        wordings = templates if isinstance(templates, Wordings) else Wordings.of(templates)
        texts.extend(wordings.held_out)
    return frozenset(normalised(text) for text in texts)


RESERVED = _held_out()

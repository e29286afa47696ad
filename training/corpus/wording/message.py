"""Turns a core into a message as a person would type it."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from training.corpus.cores.core import Core
from training.corpus.cores.lexicon import LEXICON
from training.corpus.wording.chat_frames import framed
from training.corpus.wording.contexts import in_context, in_manner
from training.corpus.wording.noise import noisy

FRAME_RATE = 0.32
CONTEXT_RATE = 0.24
MANNER_RATE = 0.08
# Short talk ("Hello") is rarely put among other words.
TALK_FRAME_RATE = 0.08
TALK = "small talk"
Surround = Callable[[str, Random, bool, bool], str]
_SURROUNDINGS: tuple[tuple[float, Surround], ...] = (
    (FRAME_RATE, framed),
    (CONTEXT_RATE, in_context),
    (MANNER_RATE, in_manner),
)


def _surroundings(rng: Random, strength: float, is_talk: bool, is_certain: bool) -> Surround | None:
    """What stands around the question, or None for nothing."""
    if is_talk:
        return framed if is_certain or rng.random() < strength * TALK_FRAME_RATE else None
    draw = rng.random() * (sum(rate for rate, _ in _SURROUNDINGS) if is_certain else 1 / max(strength, 1e-9))
    for rate, surround in _SURROUNDINGS:
        if draw < rate:
            return surround
        draw -= rate
    return None


def message(core: Core, rng: Random, strength: float, new_frame: bool = False) -> str:
    """The core among other words, as people type it.

    strength, 0 to 1, is how often frames and noise are added; new_frame adds one that is never trained on.
    """
    is_talk = core.kind == TALK
    only_before = core.is_literal or is_talk
    text = core.text
    around = _surroundings(rng, strength, is_talk, new_frame)
    if around is not None:
        text = around(text, rng, new_frame, only_before)
    return noisy(text, rng, strength, core.entities, LEXICON, core.is_literal)

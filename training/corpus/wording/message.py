"""Turns a core into a message as a person would type it."""

from __future__ import annotations

from random import Random

from training.corpus.cores.core import Core
from training.corpus.cores.lexicon import LEXICON
from training.corpus.wording.chat_frames import framed
from training.corpus.wording.noise import noisy

FRAME_RATE = 0.4
# Short talk ("Hello") is rarely put among other words.
TALK_FRAME_RATE = 0.08
TALK = "small talk"


def message(core: Core, rng: Random, strength: float, new_frame: bool = False) -> str:
    """The core among other words, as people type it.

    strength, 0 to 1, is how often frames and noise are added; new_frame adds one that is never trained on.
    """
    is_talk = core.kind == TALK
    only_before = core.is_literal or is_talk
    text = core.text
    if new_frame or rng.random() < strength * (TALK_FRAME_RATE if is_talk else FRAME_RATE):
        text = framed(text, rng, new_frame, only_before)
    return noisy(text, rng, strength, core.entities, LEXICON, core.is_literal)

"""A core: one thing to ask, worded as a sentence, with its answer."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Core:
    """What is asked and answered, before greetings, noise and other questions join it.

    Noise spares the words of `entities` more often than others. Where is_literal, the answer depends on the letters
    of `entities`: noise leaves them as they are, and nothing may follow the question.
    """

    kind: str
    text: str
    answer: str
    entities: tuple[str, ...] = ()
    is_literal: bool = False

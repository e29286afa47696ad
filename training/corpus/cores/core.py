"""A core: one question as a sentence, with its answer."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Core:
    """A question and its answer, before greetings, noise and other questions are added.

    Noise spares the words of `entities` more often than others. Where is_literal, the answer depends on the letters
    of `entities`: noise leaves them as they are, and nothing may follow the question.
    """

    kind: str
    text: str
    answer: str
    entities: tuple[str, ...] = ()
    is_literal: bool = False

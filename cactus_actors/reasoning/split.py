"""The base of reasoning splitters: they process a text phase by phase."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Literal, NamedTuple

from cactus_actors.protocol.sampling_params import ReasoningStart as Start
from cactus_actors.reasoning.trimmed import TrimmedText

__all__ = ["ReasoningSplitter", "Split", "Start", "State"]

State = Literal["undecided", "reasoning", "heading", "answer"]
"""The part that the next text belongs to; `undecided` while reasoning may still open."""


class Split(NamedTuple):
    """The reasoning and the answer's text that a chunk adds."""

    reasoning: str = ""
    text: str = ""


class ReasoningSplitter(ABC):
    """Separates reasoning and its marks from a text that arrives in chunks.

    Text is held back until it is known to be reasoning or answer. The joined parts do not depend on the chunks, and
    no piece is ever revoked. White space around the reasoning is dropped. `has_reasoned` is true once reasoning has
    begun.
    """

    has_reasoned: bool

    def __init__(self) -> None:
        self._held = ""
        self._trimmed = TrimmedText()
        self._reasoning: list[str] = []
        self._text: list[str] = []

    @property
    @abstractmethod
    def state(self) -> State: ...

    @property
    @abstractmethod
    def is_over(self) -> bool:
        """True once only the answer can follow."""

    def feed(self, text: str) -> Split:
        """The parts that are certain after `text`."""
        self._held += text
        return self._split_held(is_over=False)

    def finish(self) -> Split:
        """The rest, at the end of the text; unclosed reasoning stays reasoning."""
        return self._split_held(is_over=True)

    def _split_held(self, *, is_over: bool) -> Split:
        while self._held and self._advance(is_over=is_over):
            pass
        parts = Split("".join(self._reasoning), "".join(self._text))
        self._reasoning, self._text = [], []
        return parts

    @abstractmethod
    def _advance(self, *, is_over: bool) -> bool:
        """One change of phase, if the text held back allows one."""

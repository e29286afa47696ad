"""The interface of reasoning splitters."""

from __future__ import annotations

from typing import Literal, NamedTuple, Protocol

from cactus_actors.protocol.sampling_params import ReasoningStart as Start

__all__ = ["ReasoningSplitter", "Split", "Start", "State"]

State = Literal["undecided", "reasoning", "heading", "answer"]
"""The part that the next text belongs to; `undecided` while reasoning may still open."""


class Split(NamedTuple):
    """The reasoning and the answer's text that a chunk adds."""

    reasoning: str = ""
    text: str = ""


class ReasoningSplitter(Protocol):
    """Takes reasoning and its marks out of a text that arrives in chunks.

    Both parts, joined, do not depend on where the text was cut, and no piece is ever revoked. White
    space around the reasoning is dropped, also between it and the answer.
    """

    @property
    def state(self) -> State: ...

    @property
    def has_reasoned(self) -> bool:
        """True once reasoning has begun."""
        ...

    @property
    def is_over(self) -> bool:
        """True once only the answer can follow."""
        ...

    def feed(self, text: str) -> Split:
        """The parts that are certain after `text`."""
        ...

    def finish(self) -> Split:
        """The rest, when the text has ended; reasoning that nothing closed stays reasoning."""
        ...

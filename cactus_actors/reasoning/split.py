"""What a splitter says, and what it is asked."""

from __future__ import annotations

from typing import Literal, NamedTuple, Protocol

from cactus_actors.protocol.sampling_params import ReasoningStart as Start

__all__ = ["ReasoningSplitter", "Split", "Start", "State"]

State = Literal["undecided", "reasoning", "heading", "answer"]
"""What the next text belongs to: a mark that opens reasoning perhaps, or what the word says."""


class Split(NamedTuple):
    """What a chunk adds to the reasoning, and to the text behind it."""

    reasoning: str = ""
    text: str = ""


class ReasoningSplitter(Protocol):
    """Takes reasoning and its marks out of a text that arrives in chunks.

    Both parts, joined, do not depend on where the text was cut, and what was told is never taken back. White
    space around the reasoning is dropped, also what stands between it and the answer.
    """

    @property
    def state(self) -> State: ...

    @property
    def has_reasoned(self) -> bool:
        """Whether reasoning has begun."""
        ...

    @property
    def is_over(self) -> bool:
        """Whether nothing but the answer can come."""
        ...

    def feed(self, text: str) -> Split:
        """What is certain now that `text` has come."""
        ...

    def finish(self) -> Split:
        """The rest, when the text has ended; reasoning that nothing closed stays reasoning."""
        ...

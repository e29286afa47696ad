"""The interface between the evaluation and the backends that answer it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from training.corpus.sample import Message

if TYPE_CHECKING:
    from PIL.Image import Image

MAX_ANSWER_TOKENS = 160


@dataclass(frozen=True, slots=True)
class Question:
    """A conversation; its last message is about the picture, if there is one."""

    messages: Sequence[Message]
    tools: Sequence[Mapping[str, Any]] = ()
    picture: Image | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """A greedy answer and the confidence in its tokens; `ended` is true if the model closed its turn itself.

    entropies, in units of ln V, and log_probabilities are those of its tokens, the end of turn included. prompt_states
    are the hidden states of the prompt's last token, by number of layers, from a backend that has them.
    """

    text: str
    ended: bool
    entropies: Sequence[float] = ()
    log_probabilities: Sequence[float] = ()
    prompt_states: Mapping[int, bytes] = field(default_factory=dict)

    @property
    def logprobs(self) -> Sequence[float]:
        """The log probabilities, by the name that signals and gates have for them."""
        return self.log_probabilities


class Backend(Protocol):
    def answers(self, questions: Sequence[Question]) -> list[Answer]:
        """Answer each question, in order."""
        ...

    def close(self) -> None:
        """Release the resources of the backend."""
        ...

"""A sample: one conversation whose last message is the expected answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Message = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Sample:
    """A conversation of one kind; `messages[-1]` is the expected answer of the assistant.

    accepted holds every text that counts as right; when it is empty the wanted answer alone does.
    """

    kind: str
    messages: Sequence[Message]
    tools: Sequence[Mapping[str, Any]] = ()
    accepted: Sequence[str] = ()

    @property
    def prompt(self) -> Sequence[Message]:
        return self.messages[:-1]

    @property
    def wanted(self) -> str:
        return str(self.messages[-1]["content"])


def user(text: str) -> Message:
    return {"role": "user", "content": text}


def assistant(text: str) -> Message:
    return {"role": "assistant", "content": text}


def exchange(kind: str, question: str, answer: str, accepted: Sequence[str] = ()) -> Sample:
    """A sample of one question and one answer."""
    return Sample(kind, (user(question), assistant(answer)), accepted=accepted)

"""The questions of the test set."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from training.answering import Question

DIRECTORY = Path(__file__).parent


class Call(msgspec.Struct, frozen=True):
    """A tool call."""

    name: str
    arguments: dict[str, Any]


class HandwrittenQuestion(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A question and the rules by which its answer is judged; README.md describes the fields.

    An unanswerable question has a reason in `why`. A `call` of None means that no tool may be called.
    """

    id: str
    kind: str
    style: str
    question: str
    answers: list[str] = []
    also: list[list[str]] = []
    case: bool = False
    least: int = 1
    least_words: int = 0
    forbidden: list[str] = msgspec.field(name="not", default_factory=list)
    tools: list[dict[str, Any]] = []
    messages: list[dict[str, Any]] = []
    call: Call | msgspec.UnsetType | None = msgspec.UNSET
    why: str = ""
    harmless: list[str] = []

    @property
    def is_answerable(self) -> bool:
        return not self.why

    def asked(self) -> Question:
        """The conversation that ends with the question."""
        return Question(self.messages or [{"role": "user", "content": self.question}], self.tools)


def load_test_set() -> list[HandwrittenQuestion]:
    """All questions, answerable ones first."""
    return [*_questions("answerable.jsonl"), *_questions("unanswerable.jsonl")]


def _questions(name: str) -> Iterator[HandwrittenQuestion]:
    decoder = msgspec.json.Decoder(HandwrittenQuestion)
    for line in (DIRECTORY / name).read_bytes().splitlines():
        yield decoder.decode(line)

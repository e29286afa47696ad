"""The results of a finished run, by the numbers of its lines."""

from __future__ import annotations

import contextlib
from array import array
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple, Self

import msgspec

from cactus_actors.batch import BatchPaths
from cactus_actors.batch.batch_errors import OutputFailed, naming_file

_ID = "line-"


class LineAnswer(NamedTuple):
    """The answer of a line, or its error; a line that failed because of its answer has both."""

    text: str | None = None
    finish_reason: str | None = None
    confidence: float | None = None
    provider: str | None = None
    handoff_status: str | None = None
    model: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    error: str | None = None


class _Message(msgspec.Struct, frozen=True):
    content: str | None = None


class _Choice(msgspec.Struct, frozen=True):
    finish_reason: str | None = None
    text: str | None = None
    message: _Message | None = None


class _Handoff(msgspec.Struct, frozen=True):
    status: str = "none"
    provider: str | None = None


class _Usage(msgspec.Struct, frozen=True):
    prompt_tokens: int = 0
    completion_tokens: int = 0


class _Body(msgspec.Struct, frozen=True):
    choices: list[_Choice] = []
    confidence: float | None = None
    handoff: _Handoff = _Handoff()
    model: str | None = None
    usage: _Usage = _Usage()


class _Response(msgspec.Struct, frozen=True):
    body: _Body


class _Error(msgspec.Struct, frozen=True):
    code: str
    message: str


class _Line(msgspec.Struct, frozen=True):
    response: _Response
    error: _Error | None = None


class _Id(msgspec.Struct):
    custom_id: str


class LineResults:
    """Finds each line by its place in the files, of which eight bytes a line are kept; a context that closes them.

    Raises OutputFailed.
    """

    def __init__(self, paths: BatchPaths, first: int = 1) -> None:
        """`first` is the number of the first line."""
        self._first = first
        self._places = array("q")  # twice the offset in the output; for a failed line, one more than in the other file
        self._files: list[BinaryIO] = []
        with contextlib.ExitStack() as opened:
            for which, path in enumerate((paths.output, paths.errors)):
                if path.exists():
                    with naming_file(path):
                        file = opened.enter_context(path.open("rb"))
                        self._files.append(file)
                        self._index(which, file)
            self._closing = opened.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.close()

    def answer(self, number: int) -> LineAnswer:
        """The answer of a line; raises OutputFailed if there is none."""
        index = number - self._first
        place = self._places[index] if index < len(self._places) else -1
        if place < 0:
            raise OutputFailed(f"line {number} has no result; run the same command with --resume")
        file = self._files[place % 2]
        file.seek(place // 2)
        return _answer_of(msgspec.json.decode(file.readline(), type=_Line))

    def _index(self, which: int, file: BinaryIO) -> None:
        for number, offset in _numbered(file):
            index = number - self._first
            if index >= len(self._places):
                self._places.extend([-1] * max(index + 1 - len(self._places), len(self._places), 1024))
            self._places[index] = 2 * offset + which


def _numbered(file: BinaryIO) -> Iterator[tuple[int, int]]:
    """The number of each line, and its offset."""
    offset = 0
    decoder = msgspec.json.Decoder(_Id)
    for line in file:
        yield int(decoder.decode(line).custom_id.removeprefix(_ID)), offset
        offset += len(line)


def _answer_of(line: _Line) -> LineAnswer:
    error = None if line.error is None else f"{line.error.code}: {line.error.message}"
    body = line.response.body
    if not body.choices:
        return LineAnswer(error=error)
    choice = body.choices[0]
    return LineAnswer(
        error=error,
        text=choice.text if choice.message is None else choice.message.content,
        finish_reason=choice.finish_reason,
        confidence=body.confidence,
        provider=body.handoff.provider,
        handoff_status=body.handoff.status,
        model=body.model,
        prompt_tokens=body.usage.prompt_tokens,
        completion_tokens=body.usage.completion_tokens,
    )

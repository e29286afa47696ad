"""The rows of a table as the lines of a prompt file."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self

from cactus_actors.batch.prompt_file import MAX_LINE_BYTES, Format, RawLine
from cactus_actors.data.first_rows import FirstRows
from cactus_actors.data.readers import TableReader
from cactus_actors.data.row_batch import RowBatch, as_json, plain_rows
from cactus_actors.data.row_prompts import RowPrompt
from cactus_actors.data.table_files import reading
from cactus_actors.protocol.errors import InvalidRequest


class Window(NamedTuple):
    """Rows that are read together, the lines that they add, and for each row the number of the line that answers it.

    The lines are in the order of their content, in which lines that begin alike follow each other.
    """

    rows: RowBatch
    lines: list[RawLine]
    numbers: list[int]


@dataclass(frozen=True, kw_only=True)
class RowSource:
    """A LineSource: a line has the number of its row, from `first` on.

    `files` are those of this machine. With `shares_answers` a row with the prompt of an earlier one adds no line.
    `limit` is the most rows.
    """

    name: str
    files: Sequence[Path]
    table: TableReader
    prompt: RowPrompt
    template: str | None = None
    limit: int | None = None
    first: int = 1
    shares_answers: bool = False

    def __str__(self) -> str:
        return self.name

    @property
    def parameters(self) -> Mapping[str, Any]:
        given = {"prompt_template": self.template, "limit": self.limit}
        return {name: value for name, value in given.items() if value is not None}

    def open(self) -> RowReader:
        """A new pass over the rows."""
        return RowReader(self)

    def windows(self, columns: Sequence[str] = ()) -> Iterator[Window]:
        """All rows, with these columns and those of the prompt; the same windows each time. Raises InputInvalid."""
        wanted = list(dict.fromkeys([*columns, *self.prompt.columns])) or self.table.schema.names[:1]
        first_rows = FirstRows()
        number = self.first
        for batch in self.table.batches(wanted):
            if self.limit is not None:
                batch = RowBatch(batch.columns.slice(0, max(0, self.limit + self.first - number)), batch.errors)
            if not batch.columns.num_rows:
                return
            yield self._window(batch, number, first_rows)
            number += batch.columns.num_rows

    def _window(self, batch: RowBatch, first: int, first_rows: FirstRows) -> Window:
        lines: list[RawLine] = []
        numbers: list[int] = []
        with reading(self.name):
            rows = plain_rows(batch.columns.select(self.prompt.columns or batch.columns.schema.names[:1]))
        for place, row in enumerate(rows):
            number = first + place
            line = self._line(number, row, batch.errors.get(place))
            if self.shares_answers and line.error is None and line.content is not None:
                number = first_rows.number_of(_hash(line.content), number)
            numbers.append(number)
            if number == line.number:
                lines.append(line)
        lines.sort(key=lambda line: line.content or b"")
        return Window(batch, lines, numbers)

    def _line(self, number: int, row: Mapping[str, Any], error: InvalidRequest | None) -> RawLine:
        if error is None:
            try:
                return RawLine(number, 0, self.prompt.line(row))
            except InvalidRequest as refused:
                error = refused
        content = as_json(row)
        return RawLine(number, 0, content if len(content) <= MAX_LINE_BYTES else b"", error)


class RowReader:
    """A LineReader: one pass over the rows."""

    def __init__(self, source: RowSource) -> None:
        self._source = source
        self._digest = LineDigest()
        self._lines = self._read()

    @property
    def name(self) -> str:
        return self._source.name

    @property
    def digest(self) -> str:
        return self._digest.hex

    @property
    def stamp(self) -> tuple[int, ...]:
        return ()

    def format(self) -> Format:
        """The lines are JSON values."""
        return "jsonl"

    def lines(self) -> Iterator[RawLine]:
        """The line of every row; can be read once."""
        return self._lines

    def reopened(self) -> RowReader:
        """Another pass over the same rows."""
        return RowReader(self._source)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(ValueError):  # a cancelled run leaves a thread that still reads
            self._lines.close()

    def _read(self) -> Generator[RawLine, None, None]:
        for window in self._source.windows():
            for line in window.lines:
                self._digest.add(line)
                yield line


class LineDigest:
    """SHA-256 over the numbers, contents and errors of lines."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    @property
    def hex(self) -> str:
        return self._hash.hexdigest()

    def add(self, line: RawLine) -> None:
        """Add the next line."""
        content = line.content or b""
        error = "" if line.error is None else line.error.message
        self._hash.update(b"%d %d %s\n%s\n" % (line.number, len(content), error.encode(), content))


def _hash(content: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest())

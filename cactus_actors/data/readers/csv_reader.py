"""Reads CSV and TSV files; every column is text, as it is written there."""

from __future__ import annotations

import csv
import io
import re
import sys
from collections.abc import Iterator, Sequence

import pyarrow as pa

from cactus_actors.batch.batch_errors import InputInvalid
from cactus_actors.batch.prompt_file import MAX_LINE_BYTES
from cactus_actors.data.readers.table_reader import common_schema, counted_rows
from cactus_actors.data.row_batch import MAX_BYTES, MAX_ROWS, RowBatch
from cactus_actors.data.table_files import unpacked_file
from cactus_actors.protocol.errors import InvalidRequest

MAX_ROW_CHARACTERS = 16 * MAX_LINE_BYTES
_Record = tuple[int, list[str]]


class CsvReader:
    """The rows of files with a header each, or without a line.

    A row with more or fewer fields, with a very long one, or with invalid UTF-8, is an error.
    """

    def __init__(self, files: Sequence[str], delimiter: str = ",") -> None:
        self._files = files
        self._delimiter = delimiter
        csv.field_size_limit(sys.maxsize)  # a row with a field that is too long fails alone
        self.schema = common_schema({name: self._schema_of(name) for name in files})

    def batches(self, columns: Sequence[str], files: Sequence[str] = ()) -> Iterator[RowBatch]:
        """All rows, or those of some of the files, with these columns."""
        for name in files or self._files:
            records = self._records(name)
            _, header = next(records, (0, []))
            places = [header.index(column) if column in header else None for column in columns]
            batch = _Batch(name, len(header), columns, places)
            for line, fields in records:
                batch.add(line, fields)
                if batch.is_full:
                    yield batch.taken()
            if batch.num_rows:
                yield batch.taken()

    def num_rows(self, file: str) -> int:
        """The number of rows of a file, which is read for that."""
        return counted_rows(self, file)

    def _schema_of(self, name: str) -> pa.Schema:
        _, header = next(self._records(name), (0, []))
        try:
            "".join(header).encode()
        except UnicodeEncodeError:
            raise InputInvalid(f"{name}: the names of its columns are not UTF-8") from None
        return pa.schema([pa.field(column, pa.string()) for column in header])

    def _records(self, name: str) -> Iterator[_Record]:
        """The header and each row that is not blank, with the number of its last line."""
        with unpacked_file(name) as stream:
            text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="surrogateescape", newline="")
            lines = _Lines(text, self._delimiter)
            reader = csv.reader(lines, delimiter=self._delimiter)
            try:
                for fields in reader:
                    if lines.have_ended:  # within this row, which only a quote can continue in a next line
                        opened = reader.line_num + 1 - max(1, _num_lines(fields[-1]))
                        raise InputInvalid(f"{name}: a quote that opens in line {opened} is not closed")
                    if fields:
                        yield reader.line_num, [] if lines.is_row_too_long else fields
                    lines.begin_row()
            except csv.Error as error:
                raise InputInvalid(f"{name}: line {reader.line_num}: {error}") from None
            finally:
                text.detach()


class _Lines:
    """The lines of a file for `csv.reader`; of a row that is too long they keep what says where it ends."""

    def __init__(self, lines: Iterator[str], delimiter: str) -> None:
        self._lines = lines
        self._other_characters = re.compile(f'[^"{delimiter}\r\n]+')
        self.have_ended = False
        self.begin_row()

    def begin_row(self) -> None:
        """The next line is the first one of a row."""
        self._num_characters = 0

    @property
    def is_row_too_long(self) -> bool:
        return self._num_characters > MAX_ROW_CHARACTERS

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = next(self._lines, None)
        if line is None:
            self.have_ended = True
            raise StopIteration
        self._num_characters += len(line)
        return self._other_characters.sub("x", line) if self.is_row_too_long else line


def _num_lines(field: str) -> int:
    return sum(1 for _ in io.StringIO(field, newline=""))


class _Batch:
    """The rows that are collected for the next batch."""

    def __init__(self, file: str, num_fields: int, columns: Sequence[str], places: Sequence[int | None]) -> None:
        self._file = file
        self._num_fields = num_fields
        self._columns = columns
        self._places = places
        self._clear()

    @property
    def is_full(self) -> bool:
        return self.num_rows >= MAX_ROWS or self._num_characters >= MAX_BYTES

    def add(self, line: int, fields: list[str]) -> None:
        if not fields:
            self._refuse(f"line {line} of {self._file} is of a row of more than {MAX_ROW_CHARACTERS} characters")
        elif len(fields) != self._num_fields:
            own = "1 field" if len(fields) == 1 else f"{len(fields)} fields"
            self._refuse(f"line {line} of {self._file} has {own}, the header {self._num_fields}")
        elif max(map(len, fields)) > MAX_LINE_BYTES:  # in any column, so that each pass has the same errors
            self._refuse(f"line {line} of {self._file} has a field of more than {MAX_LINE_BYTES} characters")
        for values, place in zip(self._values, self._places, strict=True):
            value = None if place is None or place >= len(fields) else fields[place]
            if value is not None and len(value) > MAX_LINE_BYTES:
                value = None
            if value is not None and not value.isascii():
                value = self._checked(value, line)
            self._num_characters += len(value or "")
            values.append(value)
        self.num_rows += 1

    def taken(self) -> RowBatch:
        """The rows so far; the next batch begins."""
        arrays = [pa.array(values, pa.string()) for values in self._values]
        batch = RowBatch(pa.RecordBatch.from_arrays(arrays, names=list(self._columns)), self._errors)
        self._clear()
        return batch

    def _clear(self) -> None:
        self.num_rows = 0
        self._num_characters = 0
        self._errors: dict[int, InvalidRequest] = {}
        self._values: list[list[str | None]] = [[] for _ in self._columns]

    def _checked(self, value: str, line: int) -> str:
        try:
            value.encode()
        except UnicodeEncodeError:
            self._refuse(f"encoding: line {line} of {self._file} is not UTF-8")
            return value.encode(errors="surrogateescape").decode(errors="replace")
        return value

    def _refuse(self, message: str) -> None:
        self._errors.setdefault(self.num_rows, InvalidRequest(message, param="row"))

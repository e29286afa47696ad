"""Reads JSON lines: a row for each object."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from cactus_actors.api.strict_json import decode_strictly
from cactus_actors.batch.batch_errors import InputInvalid
from cactus_actors.data.readers.line_reading import FileLine, file_lines
from cactus_actors.data.readers.table_reader import counted_rows, selected
from cactus_actors.data.row_batch import MAX_BYTES, MAX_ROWS, RowBatch, is_json, json_field, number_field
from cactus_actors.protocol.errors import InvalidJSON, InvalidRequest

MAX_COLUMNS = 2000


class _WideInt(int):
    """The kind of a column with integers that are no floats."""


class _Number(float):
    """The kind of a column with floats, and with integers that are floats."""


_TYPES: dict[type, pa.DataType] = {
    bool: pa.bool_(),
    int: pa.int64(),
    _WideInt: pa.int64(),
    float: pa.float64(),
    str: pa.string(),
}
_INT64 = range(-(1 << 63), 1 << 63)
_FLOAT_INTS = range(-(1 << 53), (1 << 53) + 1)


class JsonLinesReader:
    """The objects in files; the columns are the names in all of them, which are read once for that.

    A column of one type of text, numbers or booleans has that type, any other has JSON text.
    """

    def __init__(self, files: Sequence[str]) -> None:
        self._files = files
        kinds: dict[str, type | None] = {}
        line = None
        for line in file_lines(files):
            row, _ = _row_of(line)
            for name, value in row.items():
                kinds[name] = _common(kinds.get(name), value)
            if len(kinds) > MAX_COLUMNS:
                raise InputInvalid(f"{line.where}: the objects so far have more than {MAX_COLUMNS} different names")
        if line is not None and not kinds:
            raise InputInvalid(f"{files[0]}: no line is a JSON object with a column")
        self.schema = pa.schema([_field(name, kind) for name, kind in kinds.items()])

    def batches(self, columns: Sequence[str], files: Sequence[str] = ()) -> Iterator[RowBatch]:
        """All rows, or those of some of the files, with these columns."""
        schema = selected(self.schema, columns)
        rows: list[dict[str, Any]] = []
        errors: dict[int, InvalidRequest] = {}
        num_bytes = 0
        for line in file_lines(files or self._files):
            row, error = _row_of(line)
            if error is not None:
                errors[len(rows)] = error
            rows.append(row)
            num_bytes += len(line.content)
            if len(rows) == MAX_ROWS or num_bytes >= MAX_BYTES:
                yield RowBatch(_columns(rows, schema), errors)
                rows, errors, num_bytes = [], {}, 0
        if rows:
            yield RowBatch(_columns(rows, schema), errors)

    def num_rows(self, file: str) -> int:
        """The number of rows of a file, which is read for that."""
        return counted_rows(self, file)


def _row_of(line: FileLine) -> tuple[dict[str, Any], InvalidRequest | None]:
    """The object in a line; an empty one and its error otherwise."""
    if line.error is not None:
        return {}, line.error
    try:
        row = decode_strictly(line.content, "it")
    except InvalidJSON as error:
        return {}, line.refused(error.message)
    if not isinstance(row, dict):
        return {}, line.refused("a row is a JSON object")
    return row, None


def _common(kind: type | None, value: Any) -> type | None:
    """The type of a column with one more value; `object` for several."""
    if value is None or kind is object:
        return kind
    own = type(value)
    if own not in _TYPES or (own is int and value not in _INT64):
        return object
    if own is int and value not in _FLOAT_INTS:
        own = _WideInt
    if kind is None or kind is own:
        return own
    if {kind, own} == {int, _WideInt}:
        return _WideInt
    return _Number if {kind, own} in ({int, float}, {int, _Number}, {float, _Number}) else object


def _field(name: str, kind: type | None) -> pa.Field:
    if kind is object:
        return json_field(name)
    if kind is _Number:
        return number_field(name)
    return pa.field(name, pa.string() if kind is None else _TYPES[kind])


def _columns(rows: list[dict[str, Any]], schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([_column(rows, field) for field in schema], schema=schema)


def _column(rows: list[dict[str, Any]], field: pa.Field) -> pa.Array:
    values = [row.get(field.name) for row in rows]
    if is_json(field):
        values = [None if value is None else json.dumps(value, ensure_ascii=False) for value in values]
    return pa.array(values, field.type)

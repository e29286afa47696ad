"""Rows as they are read, and as plain values."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa

from cactus_actors.protocol.errors import InvalidRequest

MAX_ROWS = 1000
MAX_BYTES = 16 << 20
"""A reader of text ends a batch after the row with which it exceeds this."""

_JSON = {b"cactus": b"json"}


class RowBatch(NamedTuple):
    """Some rows, and the errors of those that cannot be read, by their places."""

    columns: pa.RecordBatch
    errors: Mapping[int, InvalidRequest] = {}


def json_field(name: str) -> pa.Field:
    """A column of JSON text: of values of several types, objects or lists."""
    return pa.field(name, pa.string(), metadata=_JSON)


def is_json(field: pa.Field) -> bool:
    return bool(field.metadata) and field.metadata.get(b"cactus") == b"json"


def as_json(value: Any) -> bytes:
    """JSON of plain values, with integers of any size."""
    return json.dumps(msgspec.to_builtins(value), ensure_ascii=False).encode()


def plain_rows(columns: pa.RecordBatch, read_json: Callable[[str], Any] = json.loads) -> list[dict[str, Any]]:
    """The rows as values of JSON, and bytes; points in time and decimals are text. `read_json` reads JSON text."""
    names = columns.schema.names
    values = [_plain(field, columns.column(place), read_json) for place, field in enumerate(columns.schema)]
    return [dict(zip(names, row, strict=True)) for row in zip(*values, strict=True)]


def _plain(field: pa.Field, column: pa.Array, read_json: Callable[[str], Any]) -> list[Any]:
    if is_json(field):
        return [None if value is None else read_json(value) for value in column.to_pylist()]
    if pa.types.is_temporal(field.type) or pa.types.is_decimal(field.type):
        column = column.cast(pa.string())
    values: list[Any] = column.to_pylist()
    if pa.types.is_nested(field.type):
        return [msgspec.to_builtins(value) for value in values]
    return values

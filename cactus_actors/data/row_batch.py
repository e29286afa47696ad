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

_KEY, _JSON, _NUMBER = b"cactus", b"json", b"number"


class RowBatch(NamedTuple):
    """Some rows, and the errors of those that cannot be read, by their places."""

    columns: pa.RecordBatch
    errors: Mapping[int, InvalidRequest] = {}


def json_field(name: str) -> pa.Field:
    """A column of JSON text: of values of several types, objects or lists."""
    return pa.field(name, pa.string(), metadata={_KEY: _JSON})


def number_field(name: str) -> pa.Field:
    """A column of JSON text: of integers and floats, which are all floats where a column has one type."""
    return pa.field(name, pa.string(), metadata={_KEY: _NUMBER})


def is_json(field: pa.Field) -> bool:
    return _kind(field) in (_JSON, _NUMBER)


def stored_field(field: pa.Field) -> pa.Field:
    """The column in a file of typed columns."""
    return pa.field(field.name, pa.float64()) if _kind(field) == _NUMBER else field


def _kind(field: pa.Field) -> bytes:
    return bytes((field.metadata or {}).get(_KEY, b""))


def as_json(value: Any) -> bytes:
    """JSON of plain values, with integers of any size."""
    return json.dumps(msgspec.to_builtins(value), ensure_ascii=False).encode()


def plain_rows(columns: pa.RecordBatch, read_json: Callable[[str], Any] = json.loads) -> list[dict[str, Any]]:
    """The rows as values of JSON, and bytes; points in time and decimals are text, also within lists and objects.

    `read_json` reads JSON text.
    """
    names = columns.schema.names
    values = [_plain(field, columns.column(place), read_json) for place, field in enumerate(columns.schema)]
    return [dict(zip(names, row, strict=True)) for row in zip(*values, strict=True)]


def _plain(field: pa.Field, column: pa.Array, read_json: Callable[[str], Any]) -> list[Any]:
    if is_json(field):
        return [None if value is None else read_json(value) for value in column.to_pylist()]
    if (readable := _readable_type(field.type)) != field.type:
        column = column.cast(readable)
    values: list[Any] = column.to_pylist()
    if pa.types.is_nested(field.type):
        return [msgspec.to_builtins(value) for value in values]
    return values


def _readable_type(kind: pa.DataType) -> pa.DataType:
    """The type with text in the place of points in time and decimals, whose Python values have smaller ranges."""
    types = pa.types
    if types.is_temporal(kind) or types.is_decimal(kind):
        return kind if types.is_interval(kind) else pa.string()
    if types.is_dictionary(kind):
        return _readable_type(kind.value_type)
    if types.is_list(kind) or types.is_large_list(kind):
        make = pa.list_ if types.is_list(kind) else pa.large_list
        return make(_readable_field(kind.value_field))
    if types.is_fixed_size_list(kind):
        return pa.list_(_readable_field(kind.value_field), kind.list_size)
    if types.is_map(kind):
        return pa.map_(_readable_field(kind.key_field), _readable_field(kind.item_field))
    if types.is_struct(kind):
        return pa.struct([_readable_field(kind.field(place)) for place in range(kind.num_fields)])
    return kind


def _readable_field(field: pa.Field) -> pa.Field:
    return field.with_type(_readable_type(field.type))

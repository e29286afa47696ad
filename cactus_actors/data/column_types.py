"""The types of columns for the answers that obey a JSON Schema."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import pyarrow as pa

from cactus_actors.data.row_batch import json_field

MAX_DEPTH = 16
_INT64 = range(-(1 << 63), 1 << 63)


class ColumnType(NamedTuple):
    """The type of a column, None for JSON text, and what makes its values; that raises ValueError."""

    arrow: pa.DataType | None
    value_of: Callable[[Any], Any]

    def field(self, name: str) -> pa.Field:
        """A column of this type."""
        return json_field(name) if self.arrow is None else pa.field(name, self.arrow)


def property_types(schema: Any) -> dict[str, ColumnType] | None:
    """The type of each property of an object, None for a schema of other values."""
    resolved = _resolved(schema, schema)
    if not isinstance(resolved, Mapping) or not isinstance(properties := resolved.get("properties"), Mapping):
        return None
    return {name: column_type(part, schema) for name, part in properties.items()}


def column_type(schema: Any, root: Any, depth: int = MAX_DEPTH) -> ColumnType:
    """The type of the values of `schema`, a part of `root`; JSON text for those of several types."""
    schema = _resolved(schema, root)
    if depth == 0 or not isinstance(schema, Mapping):
        return JSON
    if isinstance(choices := schema.get("anyOf", schema.get("oneOf")), list):
        others = [choice for choice in choices if choice != {"type": "null"}]
        return column_type(others[0], root, depth - 1) if len(others) == 1 else JSON
    match _kind(schema):
        case "string":
            return ColumnType(pa.string(), _text)
        case "boolean":
            return ColumnType(pa.bool_(), _boolean)
        case "integer":
            return ColumnType(pa.int64(), _integer)
        case "number":
            return ColumnType(pa.float64(), _number)
        case "array" if "items" in schema:
            return _list_of(column_type(schema["items"], root, depth - 1))
        case "object" if schema.get("additionalProperties") is False and schema.get("properties"):
            return _object_of({name: column_type(part, root, depth - 1) for name, part in schema["properties"].items()})
    return JSON


def _resolved(schema: Any, root: Any) -> Any:
    """The schema that a `$ref` within the document names, or the schema itself."""
    for _ in range(MAX_DEPTH):
        if not isinstance(schema, Mapping) or not str(schema.get("$ref", "")).startswith("#"):
            return schema
        found = root
        for part in schema["$ref"].removeprefix("#").strip("/").split("/"):
            found = found.get(part, {}) if isinstance(found, Mapping) and part else found
        schema = found
    return schema


def _kind(schema: Mapping[str, Any]) -> str | None:
    """The one type of its values, apart from null."""
    kinds = schema.get("type")
    if kinds is None and ("enum" in schema or "const" in schema):
        kinds = [_KINDS.get(type(value)) for value in schema.get("enum", [schema.get("const")])]
    named = [kind for kind in (kinds if isinstance(kinds, list) else [kinds]) if kind != "null"]
    return str(named[0]) if named and all(kind == named[0] for kind in named) else None


_KINDS = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r:.80} is no text")
    return _whole(value)


def _whole(text: str) -> str:
    """The text; raises ValueError for one with half of a surrogate pair, which JSON can escape and no column holds."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{text!a:.80} has half of a surrogate pair") from None
    return text


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{value!r:.80} is neither true nor false")
    return value


def _integer(value: Any) -> int:
    is_integer = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    if isinstance(value, bool) or not is_integer:
        raise ValueError(f"{value!r:.80} is no integer")
    if int(value) not in _INT64:
        raise ValueError(f"{value!r:.80} does not fit an integer of 64 bits")
    return int(value)


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{value!r:.80} is no number")
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"{str(value)[:20]}... does not fit a number of 64 bits") from None


def _list_of(item: ColumnType) -> ColumnType:
    def values_of(value: Any) -> list[Any]:
        if not isinstance(value, list):
            raise ValueError(f"{value!r:.80} is no list")
        return [_or_none(item, one) for one in value]

    return ColumnType(pa.list_(pa.string() if item.arrow is None else item.arrow), values_of)


def _object_of(parts: Mapping[str, ColumnType]) -> ColumnType:
    def values_of(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise ValueError(f"{value!r:.80} is no object")
        return {name: _or_none(part, value.get(name)) for name, part in parts.items()}

    return ColumnType(pa.struct([part.field(name) for name, part in parts.items()]), values_of)


def _or_none(kind: ColumnType, value: Any) -> Any:
    return None if value is None else kind.value_of(value)


JSON = ColumnType(None, lambda value: _whole(json.dumps(value, ensure_ascii=False)))
"""JSON text of any value."""

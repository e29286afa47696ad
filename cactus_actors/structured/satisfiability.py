"""Finds faults of references that the compiler does not notice: loops, and schemas without a finite value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from cactus_actors.protocol.errors import SchemaInvalid, SchemaUnsatisfiable
from cactus_actors.structured.components import longest_chain
from cactus_actors.structured.keywords import TYPES
from cactus_actors.structured.limits import MAX_REFERENCE_DEPTH, check_limit
from cactus_actors.structured.schema import Schema

_IN_PLACE = ("allOf", "anyOf", "oneOf")
_PREFIX = "#/$defs/"


def check_satisfiable(definitions: Mapping[str, Schema], *, param: str) -> dict[str, Schema]:
    """`definitions` without those that no finite value obeys, references to them replaced by false.

    Raises SchemaInvalid for a schema that is defined as itself, SchemaUnsatisfiable if the first definition
    has no finite value, and SchemaTooComplex for long chains of references.
    """
    _check_loops(definitions, param)
    _check_depth(definitions, param)
    finite = _finite(definitions)
    first = next(iter(definitions))
    if first not in finite:
        raise SchemaUnsatisfiable("no finite value obeys the schema", param=param)
    return {name: _pruned(definitions[name], finite) for name in definitions if name in finite}


def _check_loops(definitions: Mapping[str, Schema], param: str) -> None:
    """Check that no definition refers to itself without an object or an array between."""
    edges = {name: set(_in_place(schema)) for name, schema in definitions.items()}
    while True:
        leaves = {name for name, targets in edges.items() if not targets}
        if not leaves:
            break
        edges = {name: targets - leaves for name, targets in edges.items() if name not in leaves}
    if edges:
        raise SchemaInvalid("a $ref leads to itself with nothing between", param=param)


def _check_depth(definitions: Mapping[str, Schema], param: str) -> None:
    """Bound the longest chain of references without repetition; a loop counts as all its members."""
    edges = {name: sorted(set(_references(schema))) for name, schema in definitions.items()}
    own = {name: _depth(schema) for name, schema in definitions.items()}
    depth = longest_chain(edges, own)
    check_limit(depth, MAX_REFERENCE_DEPTH, "schemas along a chain of $ref", param)


def _finite(definitions: Mapping[str, Schema]) -> set[str]:
    """The definitions that some finite value obeys; values are not compared with each other."""
    finite: set[str] = set()
    while True:
        more = {name for name, schema in definitions.items() if _is_finite(schema, finite)}
        if more == finite:
            return finite
        finite = more


def _pruned(schema: Schema, finite: set[str]) -> Schema:
    if isinstance(schema, bool) or ("$ref" in schema and schema["$ref"].removeprefix(_PREFIX) not in finite):
        return schema is True
    pruned: dict[str, Any] = {}
    for keyword, value in schema.items():
        if keyword in (*_IN_PLACE, "prefixItems"):
            pruned[keyword] = [_pruned(part, finite) for part in value]
        elif keyword in ("properties", "patternProperties"):
            pruned[keyword] = {name: _pruned(part, finite) for name, part in value.items()}
        elif keyword in ("additionalProperties", "items"):
            pruned[keyword] = _pruned(value, finite)
        else:
            pruned[keyword] = value
    return pruned


def _is_finite(schema: Schema, finite: set[str]) -> bool:
    if isinstance(schema, bool):
        return schema
    if "$ref" in schema and schema["$ref"].removeprefix(_PREFIX) not in finite:
        return False
    if not all(_is_finite(part, finite) for part in schema.get("allOf", [])):
        return False
    for keyword in ("anyOf", "oneOf"):
        if keyword in schema and not any(_is_finite(part, finite) for part in schema[keyword]):
            return False
    return any(_type_is_finite(kind, schema, finite) for kind in schema.get("type", TYPES))


def _type_is_finite(kind: str, schema: dict[str, object], finite: set[str]) -> bool:
    if kind == "object":
        properties = schema.get("properties", {})
        others = _schema(schema.get("additionalProperties", True))
        patterns = bool(schema.get("patternProperties"))
        required = schema.get("required", [])
        assert isinstance(properties, dict)
        assert isinstance(required, list)
        return all(
            _is_finite(properties[name], finite) if name in properties else patterns or _is_finite(others, finite)
            for name in required
        )
    if kind == "array":
        first = schema.get("prefixItems", [])
        least = schema.get("minItems", 0)
        assert isinstance(first, list)
        assert isinstance(least, int)
        rest = _schema(schema.get("items", True))
        return all(_is_finite(item, finite) for item in first[:least]) and (
            least <= len(first) or _is_finite(rest, finite)
        )
    return True


def _parts(schema: Schema) -> Iterator[Schema]:
    """The schemas directly inside of one."""
    if isinstance(schema, bool):
        return
    for keyword in ("additionalProperties", "items"):
        if keyword in schema:
            yield schema[keyword]
    for keyword in (*_IN_PLACE, "prefixItems"):
        yield from schema.get(keyword, [])
    for keyword in ("properties", "patternProperties"):
        yield from schema.get(keyword, {}).values()


def _references(schema: Schema) -> Iterator[str]:
    if isinstance(schema, dict) and "$ref" in schema:
        yield schema["$ref"].removeprefix(_PREFIX)
    for part in _parts(schema):
        yield from _references(part)


def _in_place(schema: Schema) -> Iterator[str]:
    """The definitions that apply to the same value as `schema`."""
    if isinstance(schema, bool):
        return
    if "$ref" in schema:
        yield schema["$ref"].removeprefix(_PREFIX)
    for keyword in _IN_PLACE:
        for part in schema.get(keyword, []):
            yield from _in_place(part)


def _depth(schema: Schema) -> int:
    return 1 + max((_depth(part) for part in _parts(schema)), default=0)


def _schema(value: object) -> Schema:
    assert isinstance(value, bool | dict)
    return value

"""Rewrites keywords as equivalent ones that can be enforced."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from cactus_actors.structured.keywords import TYPES

MAX_DEPENDENCIES = 4
"""Each doubles the alternatives."""

_REWRITTEN = frozenset(
    {
        *("contains", "dependencies", "dependentRequired", "dependentSchemas", "else", "if", "maxContains"),
        *("minContains", "not", "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties"),
    }
)
_UNEVALUATED = ("unevaluatedItems", "unevaluatedProperties")
"""They depend on the evaluation of an `if`, with its branches or alone."""
_IN_PLACE = (
    "$ref",
    "allOf",
    "anyOf",
    "oneOf",
    "if",
    "then",
    "else",
    "not",
    "dependentSchemas",
    "dependencies",
)


def rewritten(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """A schema of the same instances; keywords without an equivalent stay."""
    if not schema.keys() & _REWRITTEN:
        return schema
    plain = dict(schema)
    _drop_idle(plain)
    _close_what_is_left(plain)
    parts = _settled_condition(plain)
    for keyword in list(plain):
        equivalents = _equivalent_schemas(keyword, plain[keyword])
        if equivalents is not None:
            del plain[keyword]
            parts += equivalents
    if parts:
        others = plain.get("allOf", [])
        plain["allOf"] = [*others, *parts] if isinstance(others, list) else others
    return plain


def _drop_idle(schema: dict[str, Any]) -> None:
    """Remove keywords that have no effect without another one."""
    if "if" not in schema:
        schema.pop("then", None)
        schema.pop("else", None)
    elif not schema.keys() & {"then", "else", *_UNEVALUATED}:
        del schema["if"]
    if "contains" not in schema:
        schema.pop("minContains", None)
        schema.pop("maxContains", None)
    elif schema.get("minContains") == 0 and "maxContains" not in schema:
        del schema["contains"], schema["minContains"]


def _settled_condition(schema: dict[str, Any]) -> list[Any]:
    """Remove an `if` that holds for every instance or for none; returns the branch that applies."""
    condition = schema.get("if")
    if not (isinstance(condition, bool) or condition == {}) or schema.keys() & _UNEVALUATED:
        return []
    applies = "else" if condition is False else "then"
    parts = [schema[applies]] if applies in schema else []
    for keyword in ("if", "then", "else"):
        schema.pop(keyword, None)
    return parts


def _close_what_is_left(schema: dict[str, Any]) -> None:
    """If no other schema evaluates parts of the instance, the unevaluated parts are those not listed."""
    if schema.keys() & _IN_PLACE:
        return
    if "unevaluatedProperties" in schema:
        schema.setdefault("additionalProperties", schema.pop("unevaluatedProperties"))
    if "unevaluatedItems" in schema and "contains" not in schema:
        keyword = "additionalItems" if isinstance(schema.get("items"), list) else "items"
        schema.setdefault(keyword, schema.pop("unevaluatedItems"))


def _equivalent_schemas(keyword: str, value: Any) -> list[Any] | None:
    """Schemas that together are equivalent to a keyword, None if there are none."""
    match keyword, value:
        case "not", bool():
            return [not value]
        case "not", {**fields} if not fields:
            return [False]
        case "not", {"type": refused, **others} if not others:
            return _other_types(refused)
        case "not", {"required": [str() as name], **others} if not others:
            return [{"type": "object", "properties": {name: False}}]
        case "propertyNames", True:
            return []
        case "propertyNames", False:
            return [{"maxProperties": 0}]
        case "propertyNames", {"pattern": str() as pattern, **others} if not others:
            return [{"patternProperties": {pattern: True}, "additionalProperties": False}]
        case "propertyNames", {"enum": [*names], **others} if not others:
            return [_only(names)]
        case "propertyNames", {"const": name, **others} if not others:
            return [_only([name])]
        case "dependencies" | "dependentRequired" | "dependentSchemas", dict():
            return _dependencies(value) if len(value) <= MAX_DEPENDENCIES else None
    return None


def _other_types(refused: Any) -> list[Any] | None:
    types = refused if isinstance(refused, list) else [refused]
    if not all(isinstance(kind, str) and kind in TYPES for kind in types):
        return None
    if "integer" in types and "number" not in types:  # fractions alone are no type
        return None
    return [{"type": [kind for kind in TYPES if kind not in {*types, "integer"}]}]


def _only(names: list[Any]) -> dict[str, Any]:
    listed = [re.escape(name) for name in names if isinstance(name, str)]
    if not listed:
        return {"maxProperties": 0}
    return {"patternProperties": {f"^(?:{'|'.join(listed)})$": True}, "additionalProperties": False}


def _dependencies(needs: Mapping[str, Any]) -> list[Any]:
    """For each property: it is absent, or its dependency holds."""
    parts = []
    for name, need in needs.items():
        present = {"properties": {name: True}, "required": [name]}  # listed, so that it comes first
        needed = {"required": need} if isinstance(need, list) else need
        parts.append({"anyOf": [{"properties": {name: False}}, {"allOf": [present, needed]}]})
    return parts

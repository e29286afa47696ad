"""The functions that a model may call: name and arguments of each tool."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from cactus_actors.protocol.errors import InvalidRequest

Kind = Literal["text", "json", "either"]
"""Notation of a value in forms without quotes: text, JSON, or either."""

_OTHER_PLACES = ("$ref", "additionalProperties", "allOf", "anyOf", "oneOf", "patternProperties")
_TYPE_NAMES = {str: "string", bool: "boolean", int: "integer", float: "number", list: "array", dict: "object"}
_LISTING = {
    "type", "properties", "required", "additionalProperties", "title", "description", "$defs", "definitions",
    "$schema", "default", "examples",
}  # fmt: skip
"""Keywords that constrain only the arguments of an object."""
_MAX_REFERENCES = 16


class Argument(NamedTuple):
    """One argument of a function, with a self-contained schema."""

    name: str
    schema: Any
    is_required: bool


class Function(NamedTuple):
    """A tool as grammars need it: `parameters` is a schema of objects that admits no unlisted argument."""

    name: str
    parameters: dict[str, Any]
    is_strict: bool = False

    @property
    def arguments(self) -> list[Argument] | None:
        """The arguments as a list; None if the schema constrains more than single arguments."""
        schema = self.parameters
        if schema.get("additionalProperties") is not False or schema.keys() - _LISTING:
            return None
        shared = {name: schema[name] for name in ("$defs", "definitions") if name in schema}
        required = schema.get("required") or ()
        properties = schema.get("properties") or {}
        if not isinstance(properties, Mapping) or not properties.keys() >= set(required):
            return None
        return [
            Argument(name, {**one, **shared} if isinstance(one, Mapping) else one, name in required)
            for name, one in properties.items()
        ]


def functions_of(tools: Sequence[Mapping[str, Any]], *, param: str) -> list[Function]:
    """The functions of tools, with or without OpenAI's wrapper; raises InvalidRequest."""
    return [_function(tool, param) for tool in tools]


def parameters_by_name(tools: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The schemas of the arguments of `tools`, by name, as they were given."""
    functions = [tool.get("function", tool) for tool in tools]
    return {one["name"]: one.get("parameters") for one in functions if isinstance(one.get("name"), str)}


def kind_of(parameters: Any, argument: str) -> Kind:
    """The notation of an argument's value, by the schema of all arguments."""
    types = _argument_types(parameters, argument)
    if types == {"string"}:
        return "text"
    return "json" if types and "string" not in types else "either"


def admits(parameters: Any, argument: str, value: Any) -> bool:
    """True if an argument may have a value of this type; an argument without a known type may have any."""
    types = _argument_types(parameters, argument)
    name = "null" if value is None else _TYPE_NAMES[type(value)]
    return not types or name in types or (name == "integer" and "number" in types)


def _argument_types(parameters: Any, argument: str) -> set[str]:
    if not isinstance(parameters, Mapping):
        return set()
    properties = _resolved(parameters, parameters).get("properties")
    schema = properties.get(argument) if isinstance(properties, Mapping) else None
    return _types(schema, parameters, _MAX_REFERENCES)


def _types(schema: Any, root: Mapping[str, Any], depth: int) -> set[str]:
    """The names of the types that a schema admits; empty if it does not say."""
    if not isinstance(schema, Mapping) or depth == 0:
        return set()
    schema = _resolved(schema, root)
    given = schema.get("type")
    if isinstance(given, str):
        return {given}
    if isinstance(given, list):
        return {one for one in given if isinstance(one, str)}
    if isinstance(values := schema.get("enum"), list) and values:
        return {_type_name(value) for value in values}
    if "const" in schema:
        return {_type_name(schema["const"])}
    for keyword in ("anyOf", "oneOf"):
        if isinstance(branches := schema.get(keyword), list) and branches:
            types = [_types(branch, root, depth - 1) for branch in branches]
            return set().union(*types) if all(types) else set()
    for branch in schema.get("allOf") or ():
        if types_of_branch := _types(branch, root, depth - 1):
            return types_of_branch
    return set()


def _type_name(value: Any) -> str:
    return "null" if value is None else _TYPE_NAMES.get(type(value), "")


def _resolved(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema with local references followed."""
    for _ in range(_MAX_REFERENCES):
        reference = schema.get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#/"):
            break
        target: Any = root
        for segment in reference[2:].split("/"):
            name = segment.replace("~1", "/").replace("~0", "~")
            target = target.get(name) if isinstance(target, Mapping) else None
        if not isinstance(target, Mapping):
            break
        schema = target
    return schema


def _function(tool: Mapping[str, Any], param: str) -> Function:
    inside = tool.get("function", tool)
    name = inside.get("name") if isinstance(inside, Mapping) else None
    if not isinstance(name, str) or not name:
        raise InvalidRequest("a tool has no name", param=param)
    parameters = inside.get("parameters")
    is_strict = inside.get("strict") is True
    if not parameters:
        none: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}
        return Function(name, none, is_strict)
    if not isinstance(parameters, Mapping) or parameters.get("type", "object") != "object":
        raise InvalidRequest(f"the parameters of {name[:64]} are not of the type object", param=param)
    is_plain = "properties" in parameters and not any(keyword in parameters for keyword in _OTHER_PLACES)
    closed = {"additionalProperties": False} if is_plain else {}
    return Function(name, {"type": "object", **parameters, **closed}, is_strict)

"""ConfigField: one setting as described by its type, for the command line's help and the reference page."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import msgspec
from msgspec import inspect


class ConfigField(NamedTuple):
    """One field of a struct of settings.

    `text` is its description, empty for one that `cactus serve` fills in. `choices` are the values of an
    enumeration, or those that may stand in the place of a number; `minimum` and `maximum` are inclusive bounds of a
    number, `above` is an exclusive lower one.
    """

    name: str
    text: str
    kind: str
    default: Any
    choices: tuple[str, ...] = ()
    minimum: float | None = None
    above: float | None = None
    maximum: float | None = None


@cache
def config_fields(settings: type[msgspec.Struct]) -> dict[str, ConfigField]:
    """The fields of `settings` in the order of their definition, nested structs left out."""
    info = inspect.type_info(settings)
    assert isinstance(info, inspect.StructType)
    return {field.name: _field(field) for field in info.fields if not isinstance(field.type, inspect.StructType)}


def _field(field: inspect.Field) -> ConfigField:
    text, value = "", field.type
    choices: tuple[str, ...] = ()
    while isinstance(value, inspect.Metadata | inspect.UnionType):
        if isinstance(value, inspect.Metadata):
            text = text or (value.extra_json_schema or {}).get("description", "")
            value = value.type
        else:
            choices = next((_choices(kind) for kind in value.types if isinstance(kind, inspect.LiteralType)), ())
            value = next(kind for kind in value.types if not isinstance(kind, inspect.NoneType))
    default = field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()
    common: dict[str, Any] = {"name": field.name, "text": text, "default": default}
    match value:
        case inspect.LiteralType():
            return ConfigField(**common, kind="one of", choices=_choices(value))
        case inspect.IntType() | inspect.FloatType():
            kind = "integer" if isinstance(value, inspect.IntType) else "number"
            common |= {"minimum": value.ge, "above": value.gt, "maximum": value.le}
            return ConfigField(**common, kind=kind, choices=choices)
    return ConfigField(**common, kind=_KINDS[type(value)])


def _choices(value: inspect.LiteralType) -> tuple[str, ...]:
    return tuple(str(choice) for choice in value.values)


_KINDS: dict[type[inspect.Type], str] = {
    inspect.BoolType: "true or false",
    inspect.StrType: "text",
    inspect.CustomType: "path",
    inspect.ListType: "list",
    inspect.DictType: "table",
}

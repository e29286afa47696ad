"""Looks up a decoder's types by the path of an error: the accepted fields and values there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

from msgspec import inspect

_STEPS = re.compile(r"\[[^\]]*\]|[^.\[\]]+")


def fields_at(kind: Any, path: str) -> list[str]:
    """Names of the fields of the objects at `path`."""
    return [field.encode_name for struct in _structs(_types_at(kind, path)) for field in struct.fields]


def choices_at(kind: Any, path: str) -> list[str]:
    """The values of an enumeration at `path`, or the tags of a union of objects, as they are quoted in a message."""
    parent, _, name = path.rpartition(".")
    structs = _structs(_types_at(kind, parent))
    if tags := [struct.tag for struct in structs if struct.tag_field == name]:
        return [repr(tag) for tag in tags]
    enumerations = [each for each in _types_at(kind, path) if isinstance(each, inspect.LiteralType)]
    return [repr(value) for each in enumerations for value in each.values]


def range_at(kind: Any, path: str) -> str:
    """The bounds of a number at `path` in words, "" for one without."""
    for each in _types_at(kind, path):
        if isinstance(each, inspect.IntType | inspect.FloatType):
            low = "" if each.ge is None else f"at least {each.ge:.16g}"
            low = low if each.gt is None else f"above {each.gt:.16g}"
            high = "" if each.le is None else f"at most {each.le:.16g}"
            high = high if each.lt is None else f"below {each.lt:.16g}"
            return " and ".join(filter(None, [low, high]))
    return ""


@lru_cache(maxsize=64)
def _type_of(kind: Any) -> inspect.Type:
    return inspect.type_info(kind)


def _types_at(kind: Any, path: str) -> list[inspect.Type]:
    types = list(_members(_type_of(kind)))
    for step in _STEPS.findall(path):
        types = [member for each in types for inner in _step(each, step) for member in _members(inner)]
    return types


def _members(kind: inspect.Type) -> Iterator[inspect.Type]:
    """The types that a type allows, without unions and metadata."""
    match kind:
        case inspect.Metadata(type=inner):
            yield from _members(inner)
        case inspect.UnionType(types=types):
            for each in types:
                yield from _members(each)
        case _:
            yield kind


def _step(kind: inspect.Type, step: str) -> Iterable[inspect.Type]:
    match kind:
        case inspect.StructType(fields=fields):
            return [field.type for field in fields if field.encode_name == step]
        case inspect.ListType(item_type=item) | inspect.VarTupleType(item_type=item):
            return [item]
        case inspect.TupleType(item_types=items):
            return items
        case inspect.DictType(value_type=value):
            return [value]
    return []


def _structs(types: Iterable[inspect.Type]) -> list[inspect.StructType]:
    return [each for each in types if isinstance(each, inspect.StructType)]

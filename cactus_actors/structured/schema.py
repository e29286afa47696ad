"""Checks JSON schemas of clients keyword by keyword, and rewrites them for enforcement.

The semantics are those of draft 2020-12. Keywords that do not constrain instances are dropped; every other
keyword is enforced, or rejected with an error that names it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any, NamedTuple
from urllib.parse import unquote

from cactus_actors.protocol.errors import NotSupported, SchemaInvalid, SchemaTooComplex
from cactus_actors.structured import limits
from cactus_actors.structured.expressions import check_expression
from cactus_actors.structured.keywords import ANNOTATIONS, FORMATS, REFUSED, TYPES, UNWRITABLE, VALUES
from cactus_actors.structured.rewriting import rewritten

Schema = dict[str, Any] | bool

_INDEX = re.compile(r"0|[1-9][0-9]{0,8}", re.ASCII)
_LEAST = -(2**63)
"""An integer that rounds to this one in float64 crashes the compiler's process (llguidance 1.9)."""


def normalised(schema: Any, *, param: str) -> dict[str, Schema]:
    """The definitions of `schema`, itself the first; references to them are `#/$defs/NAME`.

    Raises NotSupported, SchemaInvalid and SchemaTooComplex with the keyword and its path.
    """
    try:
        text = json.dumps(schema, allow_nan=False, ensure_ascii=False).encode()
    except RecursionError as error:
        raise SchemaTooComplex("the schema is nested too deeply", param=param) from error
    except (TypeError, ValueError) as error:
        raise SchemaInvalid(f"the schema is not JSON: {error}", param=param) from error
    limits.check_limit(len(text), limits.MAX_BYTES, "bytes of the schema", param)
    return _Reader(json.loads(text), param).read_all()


class _Place(NamedTuple):
    """The reader's position: the path from the root of the schema, and the number of enclosing schemas."""

    path: str
    depth: int

    def keyword(self, name: str) -> _Place:
        return _Place(f"{self.path}/{_escaped(name)}", self.depth)

    def inside(self, name: str | int) -> _Place:
        return _Place(f"{self.path}/{_escaped(str(name))}", self.depth + 1)

    def __str__(self) -> str:
        return self.path if len(self.path) <= 200 else f"{self.path[:197]}..."


class _Reader:
    def __init__(self, root: Any, param: str) -> None:
        self._root = root
        self._param = param
        self._num_schemas = 0
        self._names = {"#": "0"}  # of the definitions, by path
        self._pending = [("#", root)]
        self._root_id = root.get("$id") if isinstance(root, dict) else None

    def read_all(self) -> dict[str, Schema]:
        definitions: dict[str, Schema] = {}
        while self._pending:
            path, schema = self._pending.pop(0)
            definitions[self._names[path]] = self._read(schema, _Place(path, 0))
        return definitions

    def _read(self, schema: Any, at: _Place) -> Schema:
        self._num_schemas += 1
        limits.check_limit(self._num_schemas, limits.MAX_SCHEMAS, "schemas inside the schema", self._param)
        limits.check_limit(at.depth, limits.MAX_DEPTH, f"schemas inside schemas at {at}", self._param)
        if isinstance(schema, bool):
            return schema
        if not isinstance(schema, dict):
            raise self._invalid(at, f"a schema is an object or a boolean, not {limits.short(schema)}")
        read: dict[str, Any] = {}
        for keyword, value in rewritten(schema).items():
            where = at.keyword(keyword)
            if keyword in ANNOTATIONS or (keyword == "uniqueItems" and value is False):
                continue
            if keyword in ("$id", "id"):
                self._check_identity(at, where, value)
                continue
            if keyword in REFUSED:
                raise NotSupported(f"the keyword {keyword} cannot be enforced, at {where}", param=self._param)
            reader = KEYWORD_READERS.get(keyword)
            if reader is None:
                raise NotSupported(f"unknown keyword {limits.short(keyword)}, at {where}", param=self._param)
            read[keyword] = reader(self, value, where)
        return self._settled(read, at)

    def _settled(self, read: dict[str, Any], at: _Place) -> dict[str, Any]:
        """`read` in the spelling of this draft, after checks of several keywords together."""
        if isinstance(read.get("items"), list):
            read["prefixItems"] = read.pop("items")
            if "additionalItems" in read:
                read["items"] = read.pop("additionalItems")
        read.pop("additionalItems", None)  # without a list of items it has no effect
        for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
            if isinstance(read.get(exclusive), bool):
                is_exclusive = read.pop(exclusive)
                if is_exclusive and bound in read:
                    read[exclusive] = read.pop(bound)
        required = read.get("required", [])
        optional = len(read.get("properties", {}).keys() - set(required))
        limits.check_limit(optional, limits.MAX_OPTIONAL_PROPERTIES, f"optional properties at {at}", self._param)
        if read.get("minProperties", 0) > max(1, len(required)):
            # names that are not listed may repeat, so that their number cannot be counted
            raise NotSupported(
                f"minProperties above the number of required properties cannot be enforced, at {at}",
                param=self._param,
            )
        return read

    def _schema(self, value: Any, where: _Place) -> Schema:
        return self._read(value, _Place(where.path, where.depth + 1))

    def _schemas(self, value: Any, where: _Place) -> list[Schema]:
        self._check(isinstance(value, list), where, "a list of schemas", value)
        return [self._read(item, where.inside(index)) for index, item in enumerate(value)]

    def _alternatives(self, value: Any, where: _Place) -> list[Schema]:
        self._check(isinstance(value, list) and bool(value), where, "a list with a schema", value)
        return self._schemas(value, where)

    def _items(self, value: Any, where: _Place) -> Schema | list[Schema]:
        read = self._schemas if isinstance(value, list) else self._schema
        return read(value, where)

    def _properties(self, value: Any, where: _Place) -> dict[str, Schema]:
        self._check(isinstance(value, dict), where, "an object of schemas", value)
        return {name: self._read(item, where.inside(name)) for name, item in value.items()}

    def _patterns(self, value: Any, where: _Place) -> dict[str, Schema]:
        read = self._properties(value, where)
        for pattern in read:
            self._pattern(pattern, where.keyword(pattern))
        return read

    def _pattern(self, value: Any, where: _Place) -> str:
        self._check(isinstance(value, str), where, "a string", value)
        check_expression(value, param=self._param, where=f"at {where}")
        return str(value)

    def _type(self, value: Any, where: _Place) -> list[str]:
        types = value if isinstance(value, list) else [value]
        known = all(isinstance(one, str) and one in TYPES for one in types)
        self._check(bool(types) and known, where, f"one or more of {', '.join(TYPES)}", value)
        return [one for one in dict.fromkeys(types) if one != "integer" or "number" not in types]

    def _enum(self, value: Any, where: _Place) -> list[Any]:
        self._check(isinstance(value, list) and bool(value), where, "a list of values", value)
        limits.check_limit(len(value), limits.MAX_ENUM_VALUES, f"values at {where}", self._param)
        for index, one in enumerate(value):
            self._const(one, where.inside(index))
        return list(value)

    def _const(self, value: Any, where: _Place) -> Any:
        for one in _scalars(value):
            if isinstance(one, str) and UNWRITABLE.search(one):
                raise NotSupported(
                    f"the control characters of {limits.short(one)} cannot be generated, at {where}",
                    param=self._param,
                )
            if type(one) is int and _LEAST <= one < _LEAST + 512:
                raise NotSupported(f"the number {one} cannot be generated, at {where}", param=self._param)
        return value

    def _count(self, value: Any, where: _Place) -> int:
        is_count = isinstance(value, int | float) and type(value) is not bool and value >= 0
        self._check(is_count and value == int(value), where, "a count", value)
        limits.check_limit(int(value), limits.MAX_COUNT, f"the count at {where}", self._param)
        return int(value)

    def _number(self, value: Any, where: _Place) -> Any:
        self._check(isinstance(value, int | float) and type(value) is not bool, where, "a number", value)
        return value

    def _exclusive(self, value: Any, where: _Place) -> Any:
        return value if isinstance(value, bool) else self._number(value, where)

    def _divisor(self, value: Any, where: _Place) -> Any:
        self._number(value, where)
        self._check(value > 0, where, "a number above 0", value)
        # The automaton has a state for each remainder.
        scaled = Decimal(str(value)).normalize()
        num_remainders = int(scaled) if scaled == int(scaled) else int("".join(map(str, scaled.as_tuple().digits)))
        limits.check_limit(num_remainders, limits.MAX_REMAINDERS, f"multiples at {where}", self._param)
        return value

    def _required(self, value: Any, where: _Place) -> list[str]:
        names = isinstance(value, list) and all(isinstance(name, str) for name in value)
        self._check(names, where, "a list of names", value)
        return list(dict.fromkeys(value))

    def _format(self, value: Any, where: _Place) -> str:
        self._check(isinstance(value, str), where, "a string", value)
        if value not in FORMATS:
            raise NotSupported(
                f"the format {limits.short(value)} cannot be enforced, at {where}; known: {', '.join(FORMATS)}",
                param=self._param,
            )
        return str(value)

    def _reference(self, value: Any, where: _Place) -> str:
        self._check(isinstance(value, str), where, "a string", value)
        reference = value.removeprefix(self._root_id) if isinstance(self._root_id, str) else value
        if not reference.startswith("#"):
            raise NotSupported(
                f"{limits.short(value)} is outside of the schema and is not fetched, at {where}", param=self._param
            )
        path, target = self._resolved(unquote(reference[1:]), where)
        if path not in self._names:
            self._names[path] = str(len(self._names))
            self._pending.append((path, target))
        return f"#/$defs/{self._names[path]}"

    def _resolved(self, pointer: str, where: _Place) -> tuple[str, Any]:
        """The place that a JSON pointer (RFC 6901) or an anchor names, and its value."""
        if pointer and not pointer.startswith("/"):
            for path, schema in _places(self._root):
                if schema.get("$anchor") == pointer:
                    return path, schema
            raise self._invalid(where, f"no schema has the anchor {limits.short(pointer)}")
        value: Any = self._root
        path = "#"
        for segment in pointer.split("/")[1:]:
            name = segment.replace("~1", "/").replace("~0", "~")
            if isinstance(value, dict) and name in value:
                value = value[name]
            elif isinstance(value, list) and _INDEX.fullmatch(name) and int(name) < len(value):
                value = value[int(name)]
            else:
                raise self._invalid(where, f"there is nothing at {limits.short(pointer)}")
            path = f"{path}/{_escaped(name)}"
        return path, value

    def _check_identity(self, at: _Place, where: _Place, value: Any) -> None:
        self._check(isinstance(value, str), where, "a string", value)
        if at.path != "#":
            raise NotSupported(f"$id inside of a schema is not supported, at {where}", param=self._param)

    def _check(self, holds: bool, where: _Place, wanted: str, value: Any) -> None:
        if not holds:
            raise self._invalid(where, f"{wanted} is wanted, not {limits.short(value)}")

    def _invalid(self, where: _Place, what: str) -> SchemaInvalid:
        return SchemaInvalid(f"at {where}: {what}", param=self._param)


KEYWORD_READERS: dict[str, Callable[[_Reader, Any, _Place], Any]] = {
    "$ref": _Reader._reference,
    "additionalItems": _Reader._schema,
    "additionalProperties": _Reader._schema,
    "allOf": _Reader._alternatives,
    "anyOf": _Reader._alternatives,
    "const": _Reader._const,
    "enum": _Reader._enum,
    "exclusiveMaximum": _Reader._exclusive,
    "exclusiveMinimum": _Reader._exclusive,
    "format": _Reader._format,
    "items": _Reader._items,
    "maxItems": _Reader._count,
    "maxLength": _Reader._count,
    "maxProperties": _Reader._count,
    "maximum": _Reader._number,
    "minItems": _Reader._count,
    "minLength": _Reader._count,
    "minProperties": _Reader._count,
    "minimum": _Reader._number,
    "multipleOf": _Reader._divisor,
    "oneOf": _Reader._alternatives,
    "pattern": _Reader._pattern,
    "patternProperties": _Reader._patterns,
    "prefixItems": _Reader._schemas,
    "properties": _Reader._properties,
    "required": _Reader._required,
    "type": _Reader._type,
}


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def _scalars(value: Any) -> Iterator[Any]:
    """All scalars and names in plain data, at any depth."""
    pending = [value]
    while pending:
        match pending.pop():
            case list() as items:
                pending += items
            case dict() as fields:
                pending += fields.keys()
                pending += fields.values()
            case scalar:
                yield scalar


def _places(root: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every object of a schema with its path, instances left out."""
    pending = [("#", root)]
    while pending:
        path, value = pending.pop()
        if isinstance(value, dict):
            yield path, value
            pending += [(f"{path}/{_escaped(k)}", v) for k, v in value.items() if k not in VALUES]
        elif isinstance(value, list):
            pending += [(f"{path}/{index}", item) for index, item in enumerate(value)]

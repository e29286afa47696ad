"""Plain data for messages and files: ordinary values, and extreme ones."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from msgspec import inspect as types

from cactus_actors.protocol.confidence import Probability

EXTREME_INTEGERS = (0, 1, -1, 2, 7, 255, 2**31 - 1, 2**31, 2**32, 2**53, 2**63 - 1, -(2**63), 2**64 - 1)
HUGE_INTEGERS = (2**64, 10**30, 10**400, -(10**400))
ODD_TEXTS = ("", " ", "\0", "a" * 5000, "\u2028", "é" * 40, "😀", "../../etc/passwd", "%s{}{{", "<|im_end|>")
LONE_SURROGATE = "\ud800"
MAX_PLACES = 400
MAX_PLACE_DEPTH = 50


def deep(depth: int) -> Any:
    """Nested lists and objects."""
    value: Any = 0
    for level in range(depth):
        value = {"a": value} if level % 2 else [value]
    return value


integers = st.one_of(st.integers(-3, 300), st.sampled_from(EXTREME_INTEGERS))
floats = st.one_of(
    st.sampled_from([0.0, -0.0, 0.5, 1.0, 1e-300, 1e300, float("inf"), float("-inf"), float("nan")]),
    st.floats(width=32),
)
texts = st.one_of(st.text(max_size=12), st.sampled_from(ODD_TEXTS))
scalars = st.one_of(st.none(), st.booleans(), integers, floats, texts)
plain = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
odd = st.one_of(
    scalars,
    st.sampled_from([*HUGE_INTEGERS, LONE_SURROGATE, [], {}, [[]], [{}], [None], deep(20), deep(900)]),
    plain,
)


def of_type(wanted: Any) -> SearchStrategy[Any]:
    """Values of a type that msgspec decodes, edge cases included."""
    return _of(types.type_info(wanted), {})


@st.composite
def probability_fits(draw: st.DrawFn) -> Probability:
    """Rising scores, and probabilities that do not fall: the struct refuses others."""
    scores = draw(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=3, unique=True))
    probabilities = draw(st.lists(st.floats(0, 1), min_size=len(scores), max_size=len(scores)))
    return Probability(signal="entropy", scores=sorted(scores), probabilities=sorted(probabilities))


def _of(info: types.Type, known: dict[Any, SearchStrategy[Any]]) -> SearchStrategy[Any]:
    match info:
        case types.NoneType():
            return st.none()
        case types.BoolType():
            return st.booleans()
        case types.IntType():
            return integers
        case types.FloatType():
            return floats
        case types.StrType():
            return texts
        case types.BytesType():
            return st.binary(max_size=16)
        case types.LiteralType(values):
            return st.sampled_from(values)
        case types.AnyType():
            return plain
        case types.UnionType(kinds):
            return st.one_of(*(_of(kind, known) for kind in kinds))
        case types.ListType(item):
            return st.lists(_of(item, known), max_size=3)
        case types.VarTupleType(item):
            return st.lists(_of(item, known), max_size=3).map(tuple)
        case types.TupleType(items):
            return st.tuples(*(_of(item, known) for item in items))
        case types.DictType(key, value):
            return st.dictionaries(_of(key, known), _of(value, known), max_size=3)
        case types.StructType(cls) if cls is Probability:
            return probability_fits()
        case types.StructType(cls):
            if cls not in known:
                known[cls] = st.deferred(lambda: _struct(info, known))
            return known[cls]
    raise NotImplementedError(info)


def _struct(info: types.StructType, known: dict[Any, SearchStrategy[Any]]) -> SearchStrategy[Any]:
    required = {field.name: _of(field.type, known) for field in info.fields if field.required}
    optional = {field.name: _of(field.type, known) for field in info.fields if not field.required}
    given = st.fixed_dictionaries(required, optional=optional)
    return given.map(lambda values: info.cls(**values))


def encodable(value: Any) -> bool:
    """True if msgpack can encode it."""
    try:
        msgspec.msgpack.encode(value)
    except (OverflowError, UnicodeEncodeError, RecursionError):
        return False
    return True


def json_bytes(value: Any) -> bytes:
    """JSON as Python writes it, with NaN, infinities, lone surrogates and any integer."""
    return json.dumps(value).encode()


def changed(value: Any, place: tuple[Any, ...], new: Any) -> Any:
    """A copy of plain data with another value at a path."""
    if not place:
        return new
    first, *rest = place
    if isinstance(value, Mapping):
        return {**value, first: changed(value.get(first), tuple(rest), new)}
    return [changed(item, tuple(rest), new) if index == first else item for index, item in enumerate(value)]


def places_in(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths to the values in plain data, the first of each level, down to a limited depth."""
    found = [at]
    items = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for key, item in list(items)[:40]:
        if len(found) > MAX_PLACES or len(at) >= MAX_PLACE_DEPTH:
            break
        found += places_in(item, (*at, key))
    return found

"""The syntax tree of a grammar's rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")
Ranges = tuple[tuple[int, int], ...]
"""Code points, both ends included, in order and apart; no surrogates."""

LAST_CODE_POINT = 0x10FFFF
_SURROGATES = (0xD800, 0xDFFF)
ANY: Ranges = ((0, _SURROGATES[0] - 1), (_SURROGATES[1] + 1, LAST_CODE_POINT))


@dataclass(frozen=True, slots=True)
class Characters:
    """One character of a set, given as ranges."""

    ranges: Ranges


@dataclass(frozen=True, slots=True)
class Text:
    """A literal text, which may be empty."""

    text: str


@dataclass(frozen=True, slots=True)
class Token:
    """One token of the vocabulary or, if negated, any other token."""

    token_id: int
    is_negated: bool
    is_control: bool
    """True if neither the token nor any that it may be has text."""
    place: str = field(compare=False)


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference to another rule."""

    name: str
    place: str = field(compare=False)


@dataclass(frozen=True, slots=True)
class Concatenation(Generic[T]):
    """Items that follow one another."""

    items: tuple[T, ...]


@dataclass(frozen=True, slots=True)
class Choice(Generic[T]):
    """One of several alternatives."""

    items: tuple[T, ...]


@dataclass(frozen=True, slots=True)
class Repeat(Generic[T]):
    """An item, repeated `least` to `most` times; without an upper bound if `most` is None."""

    item: T
    least: int
    most: int | None
    place: str = field(compare=False)


Node = Characters | Text | Token | Reference | Concatenation["Node"] | Choice["Node"] | Repeat["Node"]


class Grammar(NamedTuple):
    """Rules by name, in the order of their definitions, with the position of each."""

    rules: Mapping[str, Node]
    places: Mapping[str, str]


def parts(node: T) -> tuple[T, ...]:
    """The nodes directly inside of one."""
    inside: tuple[T, ...] = ()
    match node:
        case Concatenation(items) | Choice(items):
            inside = items
        case Repeat(item):
            inside = (item,)
    return inside


def leaves(node: T) -> Iterator[T]:
    """The nodes in one that are neither concatenation, choice nor repetition, from left to right."""
    if isinstance(node, Concatenation | Choice | Repeat):
        for part in parts(node):
            yield from leaves(part)
    else:
        yield node


def references(node: Node) -> Iterator[Reference]:
    """The references in a node, from left to right."""
    return (leaf for leaf in leaves(node) if isinstance(leaf, Reference))


def has_text_of(node: T, holds: Callable[[T], bool]) -> bool:
    """True if a text obeys `node` that needs only leaves for which `holds`."""
    match node:
        case Concatenation(items):
            return all(has_text_of(item, holds) for item in items)
        case Choice(items):
            return any(has_text_of(item, holds) for item in items)
        case Repeat(item, least):
            return least == 0 or has_text_of(item, holds)
    return holds(node)


def merged(ranges: list[tuple[int, int]]) -> Ranges:
    """`ranges` in order and apart, without surrogates."""
    pieces: list[tuple[int, int]] = []
    for low, high in ranges:
        pieces += [(max(low, first), min(high, last)) for first, last in ANY if low <= last and high >= first]
    joined: list[tuple[int, int]] = []
    for low, high in sorted(pieces):
        if joined and low <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(high, joined[-1][1]))
        else:
            joined.append((low, high))
    return tuple(joined)


def complement(ranges: Ranges) -> Ranges:
    """All other characters."""
    gaps = []
    start = 0
    for low, high in ranges:
        gaps.append((start, low - 1))
        start = high + 1
    gaps.append((start, LAST_CODE_POINT))
    return merged([(low, high) for low, high in gaps if low <= high])

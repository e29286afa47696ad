"""The syntax tree of a grammar's rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

Ranges = tuple[tuple[int, int], ...]
"""Code points, both ends included, in order and apart; no surrogates."""

LAST_CODE_POINT = 0x10FFFF
_SURROGATES = (0xD800, 0xDFFF)
ANY: Ranges = ((0, _SURROGATES[0] - 1), (_SURROGATES[1] + 1, LAST_CODE_POINT))


@dataclass(frozen=True, slots=True)
class Characters:
    """One character of some."""

    ranges: Ranges


@dataclass(frozen=True, slots=True)
class Text:
    """These characters, perhaps none."""

    text: str


@dataclass(frozen=True, slots=True)
class Token:
    """One token of the vocabulary, or any but that one."""

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
class Concatenation:
    """One after the other."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """`least` to `most` times, without bound if that is None."""

    item: Node
    least: int
    most: int | None
    place: str = field(compare=False)


Node = Characters | Text | Token | Reference | Concatenation | Choice | Repeat


class Grammar(NamedTuple):
    """Rules by name, in the order of their definitions, and where each of these begins."""

    rules: Mapping[str, Node]
    places: Mapping[str, str]


def parts(node: Node) -> tuple[Node, ...]:
    """The nodes directly inside of one."""
    match node:
        case Concatenation(items) | Choice(items):
            return items
        case Repeat(item):
            return (item,)
    return ()


def references(node: Node) -> Iterator[Reference]:
    """The references in a node, from left to right."""
    if isinstance(node, Reference):
        yield node
    for part in parts(node):
        yield from references(part)


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

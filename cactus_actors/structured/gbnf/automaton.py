"""Expressions as automata over the kinds of characters that a grammar distinguishes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from cactus_actors.structured.gbnf import tree

MAX_POSITIONS = 3000

Kinds = int
"""A set of characters: one bit for each kind of character that the grammar distinguishes."""


class Alphabet:
    """The kinds of characters that a grammar distinguishes."""

    def __init__(self, nodes: Iterable[tree.Node]) -> None:
        bounds = {0}
        for node in nodes:
            for low, high in _ranges(node):
                bounds |= {low, high + 1}
        self._bounds = sorted(bounds)
        self._index = {bound: index for index, bound in enumerate(self._bounds)}
        self._known: dict[tree.Ranges, Kinds] = {}

    def kinds(self, ranges: tree.Ranges) -> Kinds:
        """The set of the characters in `ranges`, whose bounds are all known."""
        if ranges not in self._known:
            self._known[ranges] = sum((1 << self._index[high + 1]) - (1 << self._index[low]) for low, high in ranges)
        return self._known[ranges]


def _ranges(node: tree.Node) -> Iterator[tuple[int, int]]:
    for leaf in tree.leaves(node):
        match leaf:
            case tree.Characters(ranges):
                yield from ranges
            case tree.Text(text):
                yield from ((ord(one), ord(one)) for one in text)


class TooLarge(Exception):  # it never leaves the package
    """The grammar is too large for this analysis."""


@dataclass(slots=True)
class ExpressionEnds:
    """A part of an expression: `is_nullable` if it may be empty, and the positions where it may begin and end."""

    is_nullable: bool
    first: int
    last: int


@dataclass(slots=True)
class Automaton:
    """An expression as positions (Glushkov 1961): the `kinds` of character at each, and its successors."""

    ends: ExpressionEnds
    kinds: list[Kinds] = field(default_factory=list)
    follow: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, node: tree.Node, rules: Mapping[str, tree.Node], alphabet: Alphabet) -> Automaton:
        """The automaton of a regular node; raises TooLarge."""
        automaton = cls(ExpressionEnds(True, 0, 0))
        automaton.ends = automaton._build(node, rules, alphabet)
        return automaton

    def first_kinds(self) -> Kinds:
        return self.kinds_of(self.ends.first)

    def kinds_of(self, positions: int) -> Kinds:
        """The characters at any of `positions`."""
        kinds = 0
        for position in bits(positions):
            kinds |= self.kinds[position]
        return kinds

    def _build(self, node: tree.Node, rules: Mapping[str, tree.Node], alphabet: Alphabet) -> ExpressionEnds:
        match node:
            case tree.Characters(ranges):
                return self._position(alphabet.kinds(ranges))
            case tree.Text(text):
                kinds = [alphabet.kinds(((ord(one), ord(one)),)) for one in text]
                return self._chain([self._position(one) for one in kinds])
            case tree.Reference(name):
                return self._build(rules[name], rules, alphabet)
            case tree.Concatenation(items):
                return self._chain([self._build(item, rules, alphabet) for item in items])
            case tree.Choice(items):
                options = [self._build(item, rules, alphabet) for item in items]
                return ExpressionEnds(
                    any(option.is_nullable for option in options),
                    union(option.first for option in options),
                    union(option.last for option in options),
                )
            case tree.Repeat(item, least, most):
                ends = self._build(item, rules, alphabet)
                if most is None or most > 1:
                    self._link(ends.last, ends.first)
                return ExpressionEnds(ends.is_nullable or least == 0, ends.first, ends.last)
        raise AssertionError("a token is in no expression")

    def _position(self, kinds: Kinds) -> ExpressionEnds:
        if len(self.kinds) >= MAX_POSITIONS:
            raise TooLarge
        self.kinds.append(kinds)
        self.follow.append(0)
        bit = 1 << (len(self.kinds) - 1)
        return ExpressionEnds(False, bit, bit)

    def _chain(self, items: list[ExpressionEnds]) -> ExpressionEnds:
        whole = ExpressionEnds(True, 0, 0)
        for item in items:
            self._link(whole.last, item.first)
            whole = ExpressionEnds(
                whole.is_nullable and item.is_nullable,
                whole.first | (item.first if whole.is_nullable else 0),
                item.last | (whole.last if item.is_nullable else 0),
            )
        return whole

    def _link(self, last: int, first: int) -> None:
        for position in bits(last):
            self.follow[position] |= first


def union(sets: Iterable[int]) -> int:
    all_bits = 0
    for one in sets:
        all_bits |= one
    return all_bits


def bits(positions: int) -> Iterator[int]:
    """The positions whose bits are set."""
    while positions:
        lowest = positions & -positions
        yield lowest.bit_length() - 1
        positions ^= lowest

"""Conflicts: lexemes whose greedy matching would lose texts of the grammar.

A lexeme conflicts if it can continue with a character although another lexeme, or itself, is complete and the rules
accept the same character next. Such a lexeme must be split. The search may report too many: counts are ignored, and
the followers of one use of a rule count for each use of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache

from cactus_actors.protocol.errors import NotSupported
from cactus_actors.structured.gbnf.automaton import (
    MAX_POSITIONS,
    Alphabet,
    Automaton,
    Kinds,
    TooLarge,
    bits,
    union,
)
from cactus_actors.structured.gbnf.parser import PARAM
from cactus_actors.structured.gbnf.positions import Positions
from cactus_actors.structured.gbnf.shape import Lexeme, RuleKey, Shape, leaves_in
from cactus_actors.structured.gbnf.tree import Node, Token, references

MAX_PAIRS = 200_000
MAX_ROWS = 1000
"""Sets of positions that are possible at once."""


def greedy_lexemes(shapes: Mapping[RuleKey, Shape], rules: Mapping[str, Node]) -> frozenset[Node]:
    """The lexemes that conflict with the rules after them.

    Raises NotSupported if a token with text is possible where text is, which the grammar engine would miss. Raises
    TooLarge.
    """
    leaves = [leaf for shape in shapes.values() for leaf in leaves_in(shape)]
    nodes = list(dict.fromkeys(leaf.node for leaf in leaves if isinstance(leaf, Lexeme)))
    alphabet = Alphabet(_with_references(nodes, rules))
    automata = {node: Automaton.of(node, rules, alphabet) for node in nodes}
    if sum(len(automaton.kinds) for automaton in automata.values()) > MAX_POSITIONS:
        raise TooLarge
    places = Positions(shapes, lambda node: automata[node].ends.is_nullable)
    return _Rows(places, automata).takers()


class _Rows:
    """The sets of places that are possible at once, found by going through the grammar lexeme by lexeme."""

    def __init__(self, places: Positions, automata: Mapping[Node, Automaton]) -> None:
        self._places = places
        self._automata = automata
        self._budget = MAX_PAIRS
        self._meeting = cache(self._meet)

    def takers(self) -> frozenset[Node]:
        """The lexemes with conflicts; raises TooLarge and NotSupported."""
        takers: set[Node] = set()
        rows: set[int] = set()
        pending = [self._places.first]
        while pending:
            row = pending.pop()
            if row in rows:
                continue
            rows.add(row)
            if len(rows) > MAX_ROWS:
                raise TooLarge
            places = self._by_lexeme(row)
            self._spend(len(places) ** 2)
            for complete in places:
                after = self._kinds(self._following(places[complete]))
                takers |= {taker for taker in places if self._meeting(complete, taker)[0] & after}
            pending += [self._following(union(places[node] for node in group)) for group in self._groups(places)]
            pending += [self._places.following[place] for place in self._tokens(row, bool(places))]
        return frozenset(takers)

    def _spend(self, num_pairs: int) -> None:
        self._budget -= num_pairs
        if self._budget < 0:
            raise TooLarge

    def _by_lexeme(self, row: int) -> dict[Node, int]:
        places: dict[Node, int] = {}
        for place in bits(row):
            leaf = self._places.leaves[place]
            if isinstance(leaf, Lexeme):
                places[leaf.node] = places.get(leaf.node, 0) | 1 << place
        return places

    def _tokens(self, row: int, has_lexemes: bool) -> list[int]:
        """The places of tokens in a row."""
        places = []
        for place in bits(row):
            leaf = self._places.leaves[place]
            if isinstance(leaf, Token):
                if has_lexemes and not leaf.is_control:
                    raise NotSupported(
                        f"{leaf.place}: a token that has text cannot be used where the grammar also allows text",
                        param=PARAM,
                    )
                places.append(place)
        return places

    def _following(self, places: int) -> int:
        return union(self._places.following[place] for place in bits(places))

    def _kinds(self, row: int) -> Kinds:
        """The possible first characters of a row."""
        return union(self._automata[node].first_kinds() for node in self._by_lexeme(row))

    def _groups(self, places: Iterable[Node]) -> list[list[Node]]:
        """The lexemes of a row, grouped if one text may be any of them: after it all their followers are possible."""
        groups: list[list[Node]] = []
        for node in places:
            alike = [group for group in groups if any(self._meeting(node, other)[1] for other in group)]
            groups = [group for group in groups if group not in alike]
            groups.append([node, *(other for group in alike for other in group)])
        return groups

    def _meet(self, complete: Node, taker: Node) -> tuple[Kinds, bool]:
        """The characters with which `taker` continues texts of `complete`, and true if the two have a
        text in common."""
        left, right = self._automata[complete], self._automata[taker]
        seen: set[tuple[int, int]] = set()
        pending = _common(left, left.ends.first, right, right.ends.first)
        kinds, is_alike = 0, left.ends.is_nullable and right.ends.is_nullable
        while pending:
            pair = pending.pop()
            if pair in seen:
                continue
            seen.add(pair)
            self._spend(1)
            here, there = pair
            if left.ends.last >> here & 1:
                kinds |= right.kinds_of(right.follow[there])
                is_alike = is_alike or bool(right.ends.last >> there & 1)
            pending += _common(left, left.follow[here], right, right.follow[there])
        return kinds, is_alike


def _common(left: Automaton, left_positions: int, right: Automaton, right_positions: int) -> list[tuple[int, int]]:
    """The pairs of positions that share a character."""
    return [
        (one, other)
        for one in bits(left_positions)
        for other in bits(right_positions)
        if left.kinds[one] & right.kinds[other]
    ]


def _with_references(nodes: Iterable[Node], rules: Mapping[str, Node]) -> list[Node]:
    """`nodes` and the rules that they lead to."""
    found: dict[str, Node] = {}
    pending = list(nodes)
    for node in pending:
        for reference in references(node):
            if reference.name not in found:
                found[reference.name] = rules[reference.name]
                pending.append(rules[reference.name])
    return pending

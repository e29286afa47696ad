"""Positions of lexemes and tokens in a grammar's rules, and the positions that may follow each."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from cactus_actors.structured.gbnf.automaton import TooLarge, union
from cactus_actors.structured.gbnf.shape import Lexeme, Rule, RuleKey, Shape, leaves_in
from cactus_actors.structured.gbnf.tree import Choice, Concatenation, Node, Repeat, Token, has_text_of

MAX_STEPS = 300_000


class Positions:
    """The positions of `leaves`, the lexemes and tokens of `shapes` in order; a set of positions is a set of bits.

    A text begins at one of `first`; the leaf at position i is followed by one of `following[i]`. The followers of a
    rule are those of all its uses. Raises TooLarge.
    """

    def __init__(self, shapes: Mapping[RuleKey, Shape], is_nullable: Callable[[Node], bool]) -> None:
        self._shapes = shapes
        self._is_nullable_node = is_nullable
        self.leaves = [leaf for shape in shapes.values() for leaf in leaves_in(shape)]
        self._places = {id(leaf): place for place, leaf in enumerate(self.leaves)}
        self._nullable: set[RuleKey] = set()
        self._first: dict[RuleKey, int] = dict.fromkeys(shapes, 0)
        self._following_rule: dict[RuleKey, int] = dict.fromkeys(shapes, 0)
        self.following = [0] * len(self.leaves)
        for grow in (self._grow_firsts, self._grow_following):
            num_steps = 0
            while grow():
                num_steps += len(self.leaves) + len(shapes)
                if num_steps > MAX_STEPS:
                    raise TooLarge
        self.first = self._first[next(iter(shapes))]

    def _grow_firsts(self) -> bool:
        before = len(self._nullable), list(self._first.values())
        for key, shape in reversed(list(self._shapes.items())):  # mostly parts before the rules that use them
            if self._is_nullable(shape):
                self._nullable.add(key)
            self._first[key] |= self._first_of(shape)
        return before != (len(self._nullable), list(self._first.values()))

    def _grow_following(self) -> bool:
        before = list(self._following_rule.values()), list(self.following)
        for key, shape in self._shapes.items():
            self._walk(shape, self._following_rule[key])
        return before != (list(self._following_rule.values()), self.following)

    def _is_nullable(self, shape: Shape) -> bool:
        return has_text_of(shape, self._is_nullable_leaf)

    def _is_nullable_leaf(self, leaf: Shape) -> bool:
        match leaf:
            case Lexeme(node):
                return self._is_nullable_node(node)
            case Rule(key):
                return key in self._nullable
        return False

    def _first_of(self, shape: Shape) -> int:
        match shape:
            case Lexeme() | Token():
                return 1 << self._places[id(shape)]
            case Rule(key):
                return self._first[key]
            case Concatenation(items):
                places = 0
                for item in items:
                    places |= self._first_of(item)
                    if not self._is_nullable(item):
                        break
                return places
            case Choice(items):
                return union(map(self._first_of, items))
            case Repeat(item):
                return self._first_of(item)

    def _walk(self, shape: Shape, following: int) -> None:
        match shape:
            case Lexeme() | Token():
                self.following[self._places[id(shape)]] |= following
            case Rule(key):
                self._following_rule[key] |= following
            case Concatenation(items):
                for item in reversed(items):
                    self._walk(item, following)
                    following = self._first_of(item) | (following if self._is_nullable(item) else 0)
            case Choice(items):
                for item in items:
                    self._walk(item, following)
            case Repeat(item, _, most):
                self._walk(item, following if most == 1 else following | self._first_of(item))

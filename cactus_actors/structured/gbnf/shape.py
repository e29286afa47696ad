"""Rules over lexemes: the regular parts of a grammar, joined into as few expressions as possible.

The grammar engine matches a lexeme greedily before it applies the rules, which makes it fast.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from cactus_actors.structured.gbnf import tree
from cactus_actors.structured.gbnf.rules import is_regular, regular

RuleKey = tuple[str, bool]
"""A rule's name, and True if an expression that was split could replace it."""


@dataclass(frozen=True, slots=True)
class Lexeme:
    """Text that an expression matches: a regular node."""

    node: tree.Node


@dataclass(frozen=True, slots=True)
class Rule:
    """A reference to another rule."""

    key: RuleKey


Shape = Lexeme | tree.Token | Rule | tree.Concatenation["Shape"] | tree.Choice["Shape"] | tree.Repeat["Shape"]


class Shaper:
    """Rewrites the rules of a grammar over lexemes.

    `size` is the size of lexemes: `joined`, neighbours that are regular as one; `single`, a regular rule, repetition,
    choice or text by itself; `character`, one character.
    """

    def __init__(self, rules: Mapping[str, tree.Node], size: Literal["joined", "single", "character"]) -> None:
        self._rules = rules
        self._joins = size == "joined"
        self._spells = size == "character"
        self.regular = regular(rules)

    def shapes(self, start: str, opened: frozenset[tree.Node]) -> dict[RuleKey, Shape]:
        """The needed rules, `start` the first; the lexemes in `opened` are split."""
        found: dict[RuleKey, Shape] = {}
        pending: list[RuleKey] = [(start, False)]
        while pending:
            key = pending.pop(0)
            if key not in found:
                name, is_opened = key
                node = self._rules[name]
                is_whole = name == start and name in self.regular  # then there is nothing around it
                found[key] = Lexeme(node) if is_whole else self._shape(node, is_opened, opened)
                pending += rules_in(found[key])
        return found

    def _shape(self, node: tree.Node, is_opened: bool, opened: frozenset[tree.Node]) -> Shape:
        is_taken_apart = self._spells or is_opened or node in opened
        may_stay = not is_taken_apart and (self._joins or not isinstance(node, tree.Concatenation))
        if may_stay and is_regular(node, self.regular):
            return Lexeme(node)
        match node:
            case tree.Text(text):
                return tree.Concatenation(tuple(Lexeme(tree.Characters(((ord(one), ord(one)),))) for one in text))
            case tree.Token():
                return node
            case tree.Reference(name):
                return Rule((name, name in self.regular))
            case tree.Repeat(item, least, most, place):
                return tree.Repeat(self._shape(item, False, opened), least, most, place)
            case tree.Concatenation(items):
                runs = self._runs(items) if self._joins else items
                return tree.Concatenation(tuple(self._shape(item, False, opened) for item in runs))
            case tree.Choice(items):
                options = self._joined(items) if self._joins else items
                return tree.Choice(tuple(self._shape(item, False, opened) for item in options))
        return Lexeme(node)

    def _runs(self, items: tuple[tree.Node, ...]) -> tuple[tree.Node, ...]:
        """`items` with adjacent regular ones joined."""
        runs: list[tree.Node] = []
        for together, run in groupby(items, lambda item: is_regular(item, self.regular)):
            nodes = tuple(run)
            runs += [tree.Concatenation(nodes)] if together and len(nodes) > 1 else nodes
        return tuple(runs)

    def _joined(self, items: tuple[tree.Node, ...]) -> tuple[tree.Node, ...]:
        """`items` with the regular ones joined."""
        alike = tuple(item for item in items if is_regular(item, self.regular))
        others = tuple(item for item in items if not is_regular(item, self.regular))
        return (tree.Choice(alike), *others) if len(alike) > 1 and others else items


def rules_in(shape: Shape) -> list[RuleKey]:
    """The rules that a shape leads to."""
    return [leaf.key for leaf in tree.leaves(shape) if isinstance(leaf, Rule)]


def leaves_in(shape: Shape) -> list[Lexeme | tree.Token]:
    """The lexemes and tokens of a shape, in order."""
    return [leaf for leaf in tree.leaves(shape) if isinstance(leaf, Lexeme | tree.Token)]

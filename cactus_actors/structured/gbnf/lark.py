"""Grammars in the notation of the grammar engine, a variant of Lark's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from cactus_actors.protocol.errors import SchemaTooComplex
from cactus_actors.structured.components import longest_chain
from cactus_actors.structured.gbnf import tree
from cactus_actors.structured.gbnf.automaton import TooLarge
from cactus_actors.structured.gbnf.lexeme_conflicts import greedy_lexemes
from cactus_actors.structured.gbnf.parser import PARAM, parse_grammar
from cactus_actors.structured.gbnf.rules import reachable
from cactus_actors.structured.gbnf.shape import Lexeme, Rule, RuleKey, Shape, Shaper, rules_in
from cactus_actors.structured.limits import MAX_RULE_DEPTH, check_limit
from cactus_actors.tools.grammar_builder import TokenNames

T = TypeVar("T")

_NOTHING = '""'


def lark_of_gbnf(text: str, start: str, vocabulary: TokenNames) -> str:
    """The language of the rule `start` of the grammar `text`.

    Raises SchemaInvalid with line and column, SchemaTooComplex and SchemaUnsatisfiable.
    """
    rules = reachable(parse_grammar(text, vocabulary), start)
    shaper, shapes = _shaped(rules, start)
    return _Writer(rules, shaper.regular).write(shapes)


def _shaped(rules: Mapping[str, tree.Node], start: str) -> tuple[Shaper, dict[RuleKey, Shape]]:
    """The rules over the largest lexemes that lose no text of the grammar."""
    try:
        shaper = Shaper(rules, "joined")
        shapes = shaper.shapes(start, frozenset())
        _check_depth(shapes)
        if not greedy_lexemes(shapes, rules):
            return shaper, shapes
        shaper = Shaper(rules, "single")
        opened: frozenset[tree.Node] = frozenset()
        while greedy := greedy_lexemes(shapes := shaper.shapes(start, opened), rules):
            opened |= greedy
        return shaper, shapes
    except TooLarge:
        _check_tokens(rules)
    shaper = Shaper(rules, "character")
    return shaper, shaper.shapes(start, frozenset())


def _check_depth(shapes: Mapping[RuleKey, Shape]) -> None:
    edges = {key: rules_in(shape) for key, shape in shapes.items()}
    depth = longest_chain(edges, {key: 1 + _depth(shape) for key, shape in shapes.items()})
    check_limit(depth, MAX_RULE_DEPTH, "rules and groups along a chain of rules", PARAM)


def _depth(shape: Shape) -> int:
    is_group = isinstance(shape, tree.Concatenation | tree.Choice | tree.Repeat)
    return 1 + max(map(_depth, tree.parts(shape)), default=0) if is_group else 0


def _check_tokens(rules: Mapping[str, tree.Node]) -> None:
    pending = list(rules.values())
    for node in pending:
        if isinstance(node, tree.Token) and not node.is_control:
            what = "the grammar is too large to have tokens with text"
            raise SchemaTooComplex(f"{node.place}: {what}", param=PARAM)
        pending += tree.parts(node)


class _Writer:
    def __init__(self, rules: Mapping[str, tree.Node], regular: Iterable[str]) -> None:
        self._rules = rules
        self._terminals: dict[tree.Node, str] = {}
        self._named = {name: f"R{index}" for index, name in enumerate(regular)}
        self._used: dict[str, None] = {}  # regular rules that terminals name, in order
        self._keys: dict[RuleKey, str] = {}

    def write(self, shapes: Mapping[RuleKey, Shape]) -> str:
        self._keys = {key: f"r{index}" for index, key in enumerate(shapes)}
        lines = ["start: r0"]
        lines += [f"{self._keys[key]}: {_written(shape, self._body)}" for key, shape in shapes.items()]
        lines += [f"{name}: {_written(node, self._expression)}" for node, name in self._terminals.items()]
        written = 0
        while written < len(self._used):  # writing one may use others
            name = list(self._used)[written]
            lines.append(f"{self._named[name]}: {_written(self._rules[name], self._expression)}")
            written += 1
        return "\n".join(lines)

    def _body(self, leaf: Shape) -> str:
        match leaf:
            case Lexeme(node):
                return self._terminals.setdefault(node, f"T{len(self._terminals)}")
            case tree.Token(token_id, is_negated):
                return f"<[{'^' if is_negated else ''}{token_id}]>"
            case Rule(key):
                return self._keys[key]
        raise AssertionError("a group is no leaf")

    def _expression(self, leaf: tree.Node) -> str:
        match leaf:
            case tree.Characters(ranges):
                return f"/[{''.join(f'{_escaped(low)}-{_escaped(high)}' for low, high in ranges)}]/"
            case tree.Text(text):
                return f"/{''.join(_escaped(ord(one)) for one in text)}/" if text else _NOTHING
            case tree.Reference(name):
                self._used[name] = None
                return self._named[name]
        raise AssertionError("a token is in no expression")


def _written(node: T, write_leaf: Callable[[T], str]) -> str:
    match node:
        case tree.Concatenation(items):
            return " ".join(f"({_written(item, write_leaf)})" for item in items) or _NOTHING
        case tree.Choice(items):
            return " | ".join(f"({_written(item, write_leaf)})" for item in items)
        case tree.Repeat(most=0):
            return _NOTHING
        case tree.Repeat(item, least, most):
            return f"({_written(item, write_leaf)}){{{least},{'' if most is None else most}}}"
    return write_leaf(node)


def _escaped(code_point: int) -> str:
    character = chr(code_point)
    return character if character.isascii() and character.isalnum() else rf"\x{{{code_point:X}}}"

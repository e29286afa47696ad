"""Checks the rules of a grammar."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping

from cactus_actors.protocol.errors import SchemaInvalid, SchemaUnsatisfiable
from cactus_actors.structured.gbnf import tree
from cactus_actors.structured.gbnf.parser import PARAM
from cactus_actors.structured.limits import check_limit

Rules = Mapping[str, tree.Node]

MAX_STEPS = 1_000_000
MAX_NESTING = 32


def reachable(grammar: tree.Grammar, start: str) -> dict[str, tree.Node]:
    """The rules that `start` leads to, itself the first.

    Raises SchemaInvalid for a rule that is used and not defined, or that begins with itself, and for a loop
    that repeats nothing, and SchemaUnsatisfiable for a rule that no finite text obeys.
    """
    rules, places = grammar
    if start not in rules:
        raise SchemaInvalid(f"the grammar has no rule {start}", param=PARAM)
    found: dict[str, tree.Node] = {}
    pending = [start]
    while pending:
        name = pending.pop(0)
        if name in found:
            continue
        found[name] = rules[name]
        for reference in tree.references(rules[name]):
            if reference.name not in rules:
                raise SchemaInvalid(f"{reference.place}: no rule {reference.name}", param=PARAM)
            pending.append(reference.name)
    _check_ends(found, places)
    _check_left_recursion(found, places)
    _check_loops(found)
    return found


def regular(rules: Rules) -> frozenset[str]:
    """The rules that an expression can replace: no tokens, no recursion, and no long
    chains of rules, because expressions are compiled by recursion."""
    heights: dict[tree.Node, int] = {}

    def is_low(node: tree.Node, names: Container[str]) -> bool:
        if not is_regular(node, names):
            return False
        heights[node] = 1 + max((heights[rules[one.name]] for one in tree.references(node)), default=0)
        return heights[node] <= MAX_NESTING

    return frozenset(_closure(rules, is_low))


def is_regular(node: tree.Node, names: Container[str]) -> bool:
    """True if an expression can replace `node`, given the rules for which one can."""
    return not any(
        isinstance(leaf, tree.Token) or (isinstance(leaf, tree.Reference) and leaf.name not in names)
        for leaf in tree.leaves(node)
    )


def is_nullable(node: tree.Node, names: Container[str]) -> bool:
    """True if the empty text obeys `node`, given the rules that it obeys."""

    def holds(leaf: tree.Node) -> bool:
        match leaf:
            case tree.Text(text):
                return not text
            case tree.Reference(name):
                return name in names
        return False

    return tree.has_text_of(node, holds)


def _closure(rules: Rules, holds: Callable[[tree.Node, set[str]], bool]) -> set[str]:
    """The rules for which `holds` once it does for their parts."""
    users: dict[str, list[str]] = {name: [] for name in rules}
    num_references: dict[str, int] = {}
    for name, node in rules.items():
        used = {reference.name for reference in tree.references(node)}
        num_references[name] = 1 + len(used)
        for other in used:
            users[other].append(name)
    names: set[str] = set()
    pending = list(rules)
    num_steps = 0
    while pending:
        name = pending.pop()
        num_steps += num_references[name]
        check_limit(num_steps, MAX_STEPS, "steps to understand the grammar", PARAM)
        if name not in names and holds(rules[name], names):
            names.add(name)
            pending += users[name]
    return names


def _check_ends(rules: Rules, places: Mapping[str, str]) -> None:
    ending = _closure(rules, _ends)
    for name in rules:
        if name not in ending:
            raise SchemaUnsatisfiable(f"{places[name]}: no text can match the rule {name}: it never ends", param=PARAM)


def _ends(node: tree.Node, names: Container[str]) -> bool:
    return tree.has_text_of(node, lambda leaf: not isinstance(leaf, tree.Reference) or leaf.name in names)


def _check_left_recursion(rules: Rules, places: Mapping[str, str]) -> None:
    nullable = _closure(rules, is_nullable)
    edges = {name: set(_leftmost(node, nullable)) for name, node in rules.items()}
    while done := {name for name, targets in edges.items() if not targets}:
        edges = {name: targets - done for name, targets in edges.items() if name not in done}
    if edges:
        name, seen = next(iter(edges)), set[str]()
        while name not in seen:  # the remaining rules lead to a loop
            seen.add(name)
            name = min(edges[name])
        raise SchemaInvalid(f"{places[name]}: the rule {name} begins with itself (left recursion)", param=PARAM)


def _check_loops(rules: Rules) -> None:
    """Check loops. One whose item may be empty, as in `("a"?)*`, equals the loop over non-empty items."""
    writing = _closure(rules, _writes)
    pending = list(rules.values())
    for node in pending:
        if isinstance(node, tree.Repeat) and node.most is None and not _writes(node.item, writing):
            raise SchemaInvalid(f"{node.place}: the repeated item matches only empty text", param=PARAM)
        pending += tree.parts(node)


def _writes(node: tree.Node, names: Container[str]) -> bool:
    """True if a non-empty text obeys `node`, given the rules for which that is so."""
    match node:
        case tree.Characters() | tree.Token():
            return True
        case tree.Text(text):
            return bool(text)
        case tree.Reference(name):
            return name in names
        case tree.Repeat(item, _, most):
            return most != 0 and _writes(item, names)
    return any(_writes(part, names) for part in tree.parts(node))


def _leftmost(node: tree.Node, nullable: set[str]) -> Iterable[str]:
    """The rules that may begin `node`."""
    match node:
        case tree.Reference(name):
            yield name
        case tree.Concatenation(items):
            for item in items:
                yield from _leftmost(item, nullable)
                if not is_nullable(item, nullable):
                    return
        case _:
            for part in tree.parts(node):
                yield from _leftmost(part, nullable)

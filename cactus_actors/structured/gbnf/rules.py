"""What must hold between the rules of a grammar."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from cactus_actors.protocol.errors import SchemaInvalid, SchemaUnsatisfiable
from cactus_actors.structured.gbnf.reader import PARAM
from cactus_actors.structured.gbnf.tree import (
    Choice,
    Node,
    Reference,
    Repeat,
    Sequence,
    Text,
    Token,
    parts,
    references,
)

Rules = Mapping[str, Node]


def reachable(rules: Rules, start: str) -> dict[str, Node]:
    """The rules that `start` leads to, itself the first.

    Raises SchemaInvalid for a rule that is used and not defined, or that begins with itself, and
    SchemaUnsatisfiable for one that no finite text obeys.
    """
    if start not in rules:
        raise SchemaInvalid(f"the grammar has no rule {start}", param=PARAM)
    found: dict[str, Node] = {}
    pending = [start]
    while pending:
        name = pending.pop(0)
        if name in found:
            continue
        found[name] = rules[name]
        for reference in references(rules[name]):
            if reference.name not in rules:
                raise SchemaInvalid(f"{reference.place}: no rule {reference.name}", param=PARAM)
            pending.append(reference.name)
    _check_ends(found)
    _check_left_recursion(found)
    return found


def regular(rules: Rules) -> frozenset[str]:
    """The rules that an expression can stand for: no tokens, and nothing that leads back to itself."""
    names: set[str] = set()
    while True:
        more = {name for name, node in rules.items() if is_regular(node, names)}
        if more == names:
            return frozenset(names)
        names = more


def is_regular(node: Node, names: Iterable[str]) -> bool:
    """Whether an expression can stand for `node`, given the rules for which one can."""
    match node:
        case Token():
            return False
        case Reference(name):
            return name in names
    return all(is_regular(part, names) for part in parts(node))


def is_nullable(node: Node, names: Iterable[str]) -> bool:
    """Whether the empty text obeys `node`, given the rules that it obeys."""
    match node:
        case Text(text):
            return not text
        case Reference(name):
            return name in names
        case Sequence(items):
            return all(is_nullable(item, names) for item in items)
        case Choice(items):
            return any(is_nullable(item, names) for item in items)
        case Repeat(item, least):
            return least == 0 or is_nullable(item, names)
    return False


def _check_ends(rules: Rules) -> None:
    ending: set[str] = set()
    while True:
        more = {name for name, node in rules.items() if _ends(node, ending)}
        if more == ending:
            break
        ending = more
    for name in rules:
        if name not in ending:
            raise SchemaUnsatisfiable(f"no text obeys the rule {name}: it never ends", param=PARAM)


def _ends(node: Node, names: Iterable[str]) -> bool:
    match node:
        case Reference(name):
            return name in names
        case Choice(items):
            return any(_ends(item, names) for item in items)
        case Repeat(item, least):
            return least == 0 or _ends(item, names)
    return all(_ends(part, names) for part in parts(node))


def _check_left_recursion(rules: Rules) -> None:
    nullable: set[str] = set()
    while more := {
        name for name, node in rules.items() if name not in nullable and is_nullable(node, nullable)
    }:
        nullable |= more
    edges = {name: set(_leftmost(node, nullable)) for name, node in rules.items()}
    while leaves := {name for name, targets in edges.items() if not targets}:
        edges = {name: targets - leaves for name, targets in edges.items() if name not in leaves}
    if edges:
        name, seen = next(iter(edges)), set[str]()
        while name not in seen:  # whatever is left leads to a loop
            seen.add(name)
            name = min(edges[name])
        raise SchemaInvalid(f"the rule {name} begins with itself (left recursion)", param=PARAM)


def _leftmost(node: Node, nullable: set[str]) -> Iterable[str]:
    """The rules that may stand at the beginning of `node`."""
    match node:
        case Reference(name):
            yield name
        case Sequence(items):
            for item in items:
                yield from _leftmost(item, nullable)
                if not is_nullable(item, nullable):
                    return
        case _:
            for part in parts(node):
                yield from _leftmost(part, nullable)

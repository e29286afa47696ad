"""Depth of references: compilers follow them by recursion."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import TypeVar

Name = TypeVar("Name", bound=Hashable)


def longest_chain(edges: Mapping[Name, Sequence[Name]], depths: Mapping[Name, int]) -> int:
    """The largest sum of `depths` along a chain of `edges`; a loop counts as all of its members."""
    chains: dict[Name, int] = {}
    for members in _components(edges):
        own = sum(depths[name] for name in members)
        beyond = [chains[target] for name in members for target in edges[name] if target in chains]
        chains |= dict.fromkeys(members, own + max(beyond, default=0))
    return max(chains.values(), default=0)


def _components(edges: Mapping[Name, Sequence[Name]]) -> Iterator[list[Name]]:
    """The strongly connected components, each after those it leads to (Tarjan 1972, without recursion)."""
    order: dict[Name, int] = {}
    lowest: dict[Name, int] = {}
    stack: list[Name] = []
    closed: set[Name] = set()
    for root in edges:
        if root in order:
            continue
        path = [(root, iter(edges[root]))]
        order[root] = lowest[root] = len(order)
        stack.append(root)
        while path:
            name, targets = path[-1]
            target = next(targets, None)
            if target is None:
                path.pop()
                if path:
                    parent = path[-1][0]
                    lowest[parent] = min(lowest[parent], lowest[name])
                if lowest[name] == order[name]:
                    start = stack.index(name)
                    members = stack[start:]
                    del stack[start:]
                    closed.update(members)
                    yield members
            elif target not in order:
                order[target] = lowest[target] = len(order)
                stack.append(target)
                path.append((target, iter(edges[target])))
            elif target not in closed:
                lowest[name] = min(lowest[name], order[target])

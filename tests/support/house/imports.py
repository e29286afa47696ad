"""Who imports whom inside the product, and where that goes in a circle."""

from __future__ import annotations

import ast
import graphlib
from collections.abc import Iterator, Mapping

from tests.support.house.sources import Source, product


def circles_of_files() -> list[str]:
    """Files that import each other, directly or over others; imports inside functions count too."""
    return circles_of(_imports_of_files())


def circles_of_folders(parent: str) -> list[str]:
    """The same for the folders and files that stand directly in a package, each taken as a whole."""
    graph: dict[str, set[str]] = {}
    for importer, imported in _imports_of_files().items():
        for other in imported:
            one, two = _child(parent, importer), _child(parent, other)
            if one and two and one != two:
                graph.setdefault(one, set()).add(two)
    return circles_of(graph)


def _child(parent: str, module: str) -> str:
    return module.removeprefix(f"{parent}.").partition(".")[0] if module.startswith(f"{parent}.") else ""


def _imports_of_files() -> dict[str, set[str]]:
    modules = {source.module: source for source in product()}
    return {name: set(_imported(source, modules)) - {name} for name, source in modules.items()}


def _imported(source: Source, modules: Mapping[str, Source]) -> Iterator[str]:
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom) and node.module:
            inside = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name for name in inside if name in modules)
            if node.module in modules and not all(name in modules for name in inside):
                yield node.module


def circles_of(graph: Mapping[str, set[str]]) -> list[str]:
    """One line a circle; each is broken where it was found, until none is left."""
    left = {name: set(imported) for name, imported in graph.items()}
    found = []
    while True:
        try:
            graphlib.TopologicalSorter(left).prepare()
        except graphlib.CycleError as error:
            circle = error.args[1]
            found.append(" <- ".join(circle))
            left[circle[1]].discard(circle[0])
        else:
            return found

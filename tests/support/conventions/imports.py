"""Imports between files: circles inside the product, and tests that import from other tests."""

from __future__ import annotations

import ast
import graphlib
from collections.abc import Iterator, Mapping
from functools import cache

from tests.support.conventions.sources import Source, product, sources


def circles_of_files() -> list[str]:
    """Files that import each other, directly or indirectly; imports inside functions count too."""
    return circles_of(_imports_of_files())


def circles_of_folders(parent: str) -> list[str]:
    """The imports between the folders and files directly in a package, each taken as a unit."""
    graph: dict[str, set[str]] = {}
    for importer, imported in _imports_of_files().items():
        for other in imported:
            one, two = _child(parent, importer), _child(parent, other)
            if one and two and one != two:
                graph.setdefault(one, set()).add(two)
    return circles_of(graph)


def imports_from_tests() -> list[str]:
    """Imports of a `test_*.py` or a `conftest.py`, from any file of `tests`, inside functions too."""
    return [
        f"{source.path}:{node.lineno} {name}"
        for source in sources("tests")
        for node in source.nodes
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in _names_of(node)
        if any(part == "conftest" or part.startswith("test_") for part in name.split("."))
    ]


def _names_of(node: ast.Import | ast.ImportFrom) -> list[str]:
    """The dotted names that a statement imports from `tests`."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names if alias.name.startswith("tests.")]
    is_of_tests = node.level > 0 or (node.module or "").startswith("tests")
    return [f"{node.module}.{alias.name}" for alias in node.names] if is_of_tests else []


def _child(parent: str, module: str) -> str:
    return module.removeprefix(f"{parent}.").partition(".")[0] if module.startswith(f"{parent}.") else ""


@cache
def _imports_of_files() -> dict[str, set[str]]:
    modules = {source.module: source for source in product()}
    return {name: set(_imported(source, modules)) - {name} for name, source in modules.items()}


def _imported(source: Source, modules: Mapping[str, Source]) -> Iterator[str]:
    for node in source.nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom) and node.module:
            inside = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name for name in inside if name in modules)
            if node.module in modules and not all(name in modules for name in inside):
                yield node.module


def circles_of(graph: Mapping[str, set[str]]) -> list[str]:
    """One line per circle; each is broken at the import that closes it, until none is left."""
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

"""Private attributes that other folders read.

An attribute belongs to the folders whose code defines it: as an attribute of `self`, as a member of a class, or as a
name of a module. Names that the product does not define belong to libraries, and are not looked at.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cache

from tests.support.conventions.sources import Source, product, sources

OF_NAMED_TUPLES = {"_", "_asdict", "_fields", "_make", "_replace"}
"""Public although they begin with an underscore."""


def reads_across_packages() -> list[str]:
    """Private names of one folder of the product that another one reads."""
    owners = _owners()
    return [
        f"{source.path}:{line}: {name} of {', '.join(sorted(owners[name]))}"
        for source in product()
        for line, name in _reads(source)
        if name in owners and source.folder not in owners[name]
    ]


def reads_by_tests() -> list[str]:
    """Private names of the product that tests read or replace, except those that the test's file defines too."""
    owners = _owners()
    return [
        f"{source.path}:{line}: {name}"
        for source in sources("tests")
        if not source.path.startswith("tests/support/conventions/")
        if (reads := [(line, name) for line, name in _reads(source) if name in owners])
        for own in [set(_definitions(source))]
        for line, name in reads
        if name not in own
    ]


@cache
def _owners() -> dict[str, set[str]]:
    owners: dict[str, set[str]] = defaultdict(set)
    for source in product():
        for name in _definitions(source):
            owners[name].add(source.folder)
    return owners


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name not in OF_NAMED_TUPLES


def _definitions(source: Source) -> Iterator[str]:
    for node in source.nodes:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield from [name] if _is_private(name) else []
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name, ctx=ast.Store()) if _is_private(name):
                yield name
            case ast.Name(id=name, ctx=ast.Store()) if _is_private(name):
                yield name


def _reads(source: Source) -> Iterator[tuple[int, str]]:
    others = {"self", "cls", *_imported_libraries(source)}
    for node in source.nodes:
        match node:
            case ast.Attribute(value=ast.Name(id=name)) if name in others:
                pass
            case ast.Attribute(attr=name) if _is_private(name):
                yield node.lineno, name
            case ast.ImportFrom():
                yield from ((node.lineno, alias.name) for alias in node.names if _is_private(alias.name))
            case ast.Call(
                func=ast.Attribute(attr="setattr" | "delattr"), args=[_, ast.Constant(value=str(name)), *_]
            ) if _is_private(name):
                yield node.lineno, name
            case ast.Call(func=ast.Attribute(attr="setattr" | "delattr"), args=[*_]):
                told = [word.value for word in node.args[:2] if isinstance(word, ast.Constant)]
                names = ".".join(word for word in told if isinstance(word, str)).split(".")
                yield from ((node.lineno, name) for name in names if _is_private(name))


def _imported_libraries(source: Source) -> Iterator[str]:
    for node in source.nodes:
        if isinstance(node, ast.Import):
            names = (alias.asname or alias.name for alias in node.names)
            yield from (name for name in names if not name.startswith("cactus_actors"))

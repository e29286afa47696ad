"""The number of arguments of constructors.

Explicit constructors count in every class. Those that `dataclass` generates count unless the class is a record: it is
frozen, or has no methods but properties, class methods, static methods and special ones. msgspec's structs are records.
Inherited fields count; fields with `init=False` do not.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from tests.support.conventions.sources import product


def large_constructors(most: int) -> list[str]:
    """Constructors of the product with more than `most` arguments."""
    classes = {node.name: node for source in product() for node in source.classes()}
    return [
        f"{source.path}: {node.name} takes {number} arguments"
        for source in product()
        for node in source.classes()
        if (number := num_arguments(node, classes)) > most
    ]


def num_arguments(node: ast.ClassDef, classes: Mapping[str, ast.ClassDef]) -> int:
    """The number of arguments that count; 0 for a record."""
    for statement in node.body:
        if isinstance(statement, ast.FunctionDef) and statement.name == "__init__":
            arguments = statement.args
            given = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
            return len(given) - 1 + (arguments.vararg is not None) + (arguments.kwarg is not None)
    if not _is_dataclass(node) or _is_record(node):
        return 0
    return len(set(_fields(node, classes)))


def _is_dataclass(node: ast.ClassDef) -> bool:
    return any(ast.unparse(mark).removeprefix("dataclasses.").startswith("dataclass") for mark in node.decorator_list)


def _is_record(node: ast.ClassDef) -> bool:
    is_frozen = any("frozen=True" in ast.unparse(mark) for mark in node.decorator_list)
    functions = (node for node in node.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return is_frozen or all(_is_special(function) for function in functions)


def _is_special(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    marks = {ast.unparse(mark) for mark in function.decorator_list}
    is_dunder = function.name.startswith("__") and function.name.endswith("__")
    return is_dunder or bool(marks & {"property", "cached_property", "classmethod", "staticmethod"})


def _fields(node: ast.ClassDef, classes: Mapping[str, ast.ClassDef]) -> Iterator[str]:
    for base in node.bases:
        if isinstance(base, ast.Name) and base.id in classes and base.id != node.name:
            yield from _fields(classes[base.id], classes)
    for statement in node.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            told = ast.unparse(statement.annotation)
            made = "" if statement.value is None else ast.unparse(statement.value)
            if not told.startswith(("ClassVar", "KW_ONLY")) and "init=False" not in made:
                yield statement.target.id

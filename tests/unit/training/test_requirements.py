"""training/requirements.txt names the libraries that the training imports, also through modules of the product."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.paths import ROOT

PACKAGES_OF_MODULES = {"PIL": "pillow"}
PROJECT = ("training", "cactus_actors")


def _required() -> set[str]:
    lines = (ROOT / "training" / "requirements.txt").read_text().split()
    return {line.partition("==")[0] for line in lines}


def _file_of(module: str) -> Path | None:
    path = ROOT / Path(*module.split("."))
    files = (path.with_suffix(".py"), path / "__init__.py")
    return next((file for file in files if file.is_file()), None)


def _imports(file: Path) -> Iterator[str]:
    """The modules that the file imports when it is loaded; a name that it imports from one may be a module too."""
    for node in ast.parse(file.read_text()).body:
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module
            yield from (f"{node.module}.{name.name}" for name in node.names)


def _libraries(module: str) -> set[str]:
    """The top-level modules outside the project and the standard library that loading `module` imports."""
    found: set[str] = set()
    seen: set[Path] = set()
    pending = [module]
    while pending:
        name = pending.pop()
        top = name.partition(".")[0]
        if top not in PROJECT:
            found |= {top} - sys.stdlib_module_names
        elif (file := _file_of(name)) is not None and file not in seen:
            seen.add(file)
            pending += _imports(file)
    return found


@pytest.mark.parametrize("module", ["training.train", "training.pictures.train"])
def test_the_requirements_name_every_library_that_a_training_imports(module: str) -> None:
    packages = {PACKAGES_OF_MODULES.get(name, name) for name in _libraries(module)}
    assert "torch" in packages
    assert packages <= _required()

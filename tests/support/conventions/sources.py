"""The source files of the product and of the tests, each parsed once."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.support.paths import ROOT

PRODUCT = ("cactus_actors", "router", "workers")
IMPORTED_AS = {"router": "cactus_actors.router", "workers": "cactus_actors.workers"}
"""Top-level folders that are linked into the package."""


@dataclass(frozen=True, slots=True)
class Source:
    """One Python file of the repository."""

    path: str
    """Relative to the repository's root."""

    text: str
    tree: ast.Module
    nodes: tuple[ast.AST, ...]
    """All nodes of the tree."""

    @property
    def folder(self) -> str:
        return self.path.rpartition("/")[0]

    @property
    def module(self) -> str:
        """The module name."""
        top, _, rest = self.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".").partition(".")
        return ".".join(filter(None, (IMPORTED_AS.get(top, top), rest)))

    @property
    def num_lines(self) -> int:
        return len(self.text.splitlines())

    def classes(self) -> Iterator[ast.ClassDef]:
        return (node for node in self.nodes if isinstance(node, ast.ClassDef))


@cache
def tracked(*patterns: str) -> tuple[Path, ...]:
    """The files that git tracks, without symbolic links and deleted files; paths are relative to the root."""
    listed = subprocess.run(["git", "ls-files", "-z", *patterns], cwd=ROOT, capture_output=True, text=True, check=True)
    paths = (Path(name) for name in listed.stdout.split("\0") if name)
    return tuple(path for path in paths if (ROOT / path).is_file() and not (ROOT / path).is_symlink())


@cache
def source(path: Path) -> Source:
    """The file at a path relative to the root."""
    text = (ROOT / path).read_text(encoding="utf-8")
    tree = ast.parse(text)
    return Source(path.as_posix(), text, tree, tuple(ast.walk(tree)))


def sources(*folders: str) -> tuple[Source, ...]:
    """The Python files below some folders of the repository."""
    return tuple(source(path) for path in tracked(*(f"{folder}/*.py" for folder in folders)))


def product() -> tuple[Source, ...]:
    return sources(*PRODUCT)


def forget_sources() -> None:
    """Free the parsed files: garbage collection in later tests would examine their millions of nodes."""
    source.cache_clear()

"""Documents have lines of limited length, and the files and tests that they name exist."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from tests.support.paths import ROOT, TESTS
from tests.support.text.documents import DOCUMENTS

MAX_LINE = 120
ROOMS = ("benchmarks", "cactus_actors", "deploy", "docs", "examples", "router", "tests", "training", "workers")
PATH = re.compile(rf"`((?:{'|'.join(ROOMS)})/[\w./*-]*)`")
TEST = re.compile(r"`(test_[a-z0-9_]+)`")
HISTORY = ROOT / "CHANGELOG.md"  # names the files of that time
EACH = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))


@cache
def functions_of_tests() -> frozenset[str]:
    sources = (path.read_text() for path in TESTS.rglob("test_*.py"))
    return frozenset(name for source in sources for name in re.findall(r"def (test_\w+)\(", source))


def absent_paths(text: str) -> list[str]:
    """The paths of the repository in a text that do not exist; `*` is a wildcard."""
    return [path for path in PATH.findall(text) if not any(ROOT.glob(path.rstrip("/")))]


def absent_tests(text: str) -> list[str]:
    return [name for name in TEST.findall(text) if name not in functions_of_tests()]


@EACH
def test_lines_have_at_most_120_columns(document: Path) -> None:
    lines = enumerate(document.read_text(encoding="utf-8").splitlines(), start=1)
    assert [number for number, line in lines if len(line) > MAX_LINE] == []


@EACH
def test_named_files_and_tests_exist(document: Path) -> None:
    if document != HISTORY:
        text = document.read_text(encoding="utf-8")
        assert absent_paths(text) == []
        assert absent_tests(text) == []


def test_missing_paths_and_tests_are_found() -> None:
    assert absent_paths("`router/core.py`, `router/gone.py` and `tests/wire/test_*.py`") == ["router/gone.py"]
    assert absent_tests("`test_a_line_that_was_never_written`") == ["test_a_line_that_was_never_written"]

"""The lengths of lines and files."""

from __future__ import annotations

import re
from statistics import median

from tests.support.conventions.sources import product, sources, tracked
from tests.support.paths import ROOT

CODE = ("*.py", "*.go", "*.toml", "*.yml", "*.yaml", "*.h", "*.mjs", "*.sh", "Makefile")
TABLES = {"training/corpus/smalltalk.py", "training/corpus/tool_tables.py"}
"""Files of data with one row per line."""
PRAGMA = re.compile(r"\s+# (type: ignore|noqa)\b.*")


def long_lines(most: int) -> list[str]:
    """Lines of code with more than `most` columns, without comments for tools; a single long word may be longer."""
    return [
        f"{path}:{number}: {len(line)} columns"
        for path in tracked(*CODE)
        if path.as_posix() not in TABLES
        for number, line in enumerate((ROOT / path).read_text(encoding="utf-8").splitlines(), 1)
        if len(PRAGMA.sub("", line)) > most and len(line.split()) > 1
    ]


def long_files(most: int) -> list[str]:
    """Files of the product and of the tests with more than `most` lines."""
    files = (*product(), *sources("tests"))
    return [f"{source.path}: {source.num_lines} lines" for source in files if source.num_lines > most]


def median_lines() -> float:
    return median(source.num_lines for source in product())

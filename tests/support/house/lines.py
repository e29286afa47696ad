"""How long lines and files are."""

from __future__ import annotations

from statistics import median

from tests.support.house.sources import product, tracked
from tests.support.paths import ROOT

TEXTS = ("*.py", "*.md", "*.toml", "*.yml", "*.yaml", "*.h", "*.mjs", "*.sh", "Makefile")
NO_DOCUMENTS = ("tests/retrieval/library/",)
"""Texts that tests search in: other line ends would be other texts."""


def long_lines(most: int) -> list[str]:
    """Lines of code and of documents with more than `most` columns."""
    return [
        f"{path}:{number}: {len(line)} columns"
        for path in tracked(*TEXTS)
        if not path.as_posix().startswith(NO_DOCUMENTS)
        for number, line in enumerate((ROOT / path).read_text(encoding="utf-8").splitlines(), 1)
        if len(line) > most
    ]


def long_files(most: int) -> list[str]:
    """Files of the product with more than `most` lines."""
    return [f"{source.path}: {source.num_lines} lines" for source in product() if source.num_lines > most]


def median_lines() -> float:
    return median(source.num_lines for source in product())

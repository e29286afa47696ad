"""A table of reviews in a file, and a command that answers a table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import typer.testing

from tests.support.text.reviews import REVIEWS


@pytest.fixture
def reviews(tmp_path: Path) -> Path:
    path = tmp_path / "reviews.parquet"
    pq.write_table(REVIEWS, path)
    return path


@pytest.fixture
def answered(cactus: Callable[..., typer.testing.Result], tmp_path: Path) -> Callable[..., list[dict[str, Any]]]:
    """Run `cactus batch` with these arguments; returns the rows of its Parquet file."""

    def answered(*arguments: str, exit_code: int = 0) -> list[dict[str, Any]]:
        result = cactus("batch", *arguments, "-o", str(tmp_path / "out.parquet"))
        assert result.exit_code == exit_code, result.output
        return pq.read_table(tmp_path / "out.parquet").to_pylist()

    return answered

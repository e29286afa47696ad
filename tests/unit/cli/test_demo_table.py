"""The table of `cactus demo --rows`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import typer.testing

from cactus_actors.cli.demo_questions import KINDS, write_questions
from cactus_actors.data import requirements
from cactus_actors.protocol.errors import ConfigurationInvalid


def test_its_questions_are_always_the_same_and_most_of_them_differ(tmp_path: Path) -> None:
    num_different = write_questions(tmp_path / "first.parquet", 2000)
    assert write_questions(tmp_path / "again.parquet", 2000) == num_different
    table = pq.read_table(tmp_path / "first.parquet")
    assert table.equals(pq.read_table(tmp_path / "again.parquet"))
    assert len({*table["question"].to_pylist()}) == num_different > 1800
    assert table["id"].to_pylist() == [*range(2000)]
    assert {*table["kind"].to_pylist()} == {*KINDS}


def test_without_the_extras_it_says_how_to_install_them(
    cactus: Callable[..., typer.testing.Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requirements, "find_spec", lambda name: None if name == "pandas" else name)
    with pytest.raises(ConfigurationInvalid, match=r"pip install 'cactus-actors\[data,ray\]'"):
        cactus("demo", "--rows", "10", "--output", str(tmp_path / "results.jsonl"))
    assert not [*tmp_path.iterdir()]

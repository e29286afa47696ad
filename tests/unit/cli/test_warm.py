"""`cactus warm`: what a worker needs is there afterwards, and what was there is kept."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import typer.testing

from cactus_actors.protocol.errors import ConfigurationInvalid, ModelFileInvalid

COMPILED_BY_A_WORKER = """
from numba.core.event import install_recorder
from cactus_actors.workers.engine_bench import run_bench
with install_recorder("numba:compile") as recorder:
    list(run_bench(model="cactus-sprout", threads=2, batches=[1], prompt_tokens=4, decode_tokens=4, num_rounds=1))
print(len(recorder.buffer))
"""


def test_weights_are_packed_once_for_each_format(
    cactus: Callable[..., typer.testing.Result], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CACTUS_CACHE_DIR", str(tmp_path / "cache"))
    cactus("warm", "cactus-sprout")  # the kernels may be compiled by this
    (tmp_path / "cache" / "packed").rename(tmp_path / "former")
    packed = cactus("warm", "cactus-sprout")
    assert packed.stdout.startswith("cactus-sprout: int8 weights, int8 KV cache, ")
    assert "packed and compiled already in " in packed.stdout
    assert "cactus-sprout: packing the weights" in packed.stderr
    again = cactus("warm", "--json")
    assert again.stderr == ""
    record = json.loads(again.stdout)
    assert (record["model"], record["was_packed"], record["was_compiled"]) == ("cactus-sprout", False, False)
    assert cactus("warm").stdout.endswith(": everything is there already\n")


def test_every_model_of_a_configuration_is_warmed(cactus: Callable[..., typer.testing.Result], tmp_path: Path) -> None:
    config = tmp_path / "two.toml"
    config.write_text('[[models]]\nname = "small"\npath = "cactus-sprout"\n[[models]]\nname = "cactus-bloom"\n')
    lines = cactus("warm", "--config", str(config)).stdout.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["small", "cactus-bloom"]
    with pytest.raises(ConfigurationInvalid, match=r"model is a setting of each of \[\[models\]\]"):
        cactus("warm", "cactus-bloom", "--config", str(config))


def test_a_model_that_is_not_there_or_has_no_head_for_drafts_is_an_error(
    cactus: Callable[..., typer.testing.Result],
) -> None:
    with pytest.raises(ModelFileInvalid, match="nonsuch"):
        cactus("warm", "nonsuch")
    with pytest.raises(ModelFileInvalid, match="the name of a model is empty; embedded: cactus-bloom, "):
        cactus("warm", "")
    with pytest.raises(ConfigurationInvalid, match="head"):
        cactus("warm", "--speculate", "mtp")
    with pytest.raises(ConfigurationInvalid, match="speculation must be at least 0 and at most 64"):
        cactus("warm", "--speculate", "-1")


@pytest.mark.slow
def test_a_worker_compiles_nothing_afterwards(tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "cactus_actors.cli", "warm"]
    warmed = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert " and compiled in " in warmed.stdout
    command = [sys.executable, "-c", COMPILED_BY_A_WORKER]
    assert subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout == "0\n"

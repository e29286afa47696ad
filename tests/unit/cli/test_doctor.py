"""`cactus doctor`: its output and its exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import typer.testing

from cactus_actors.doctor import self_test
from cactus_actors.doctor.self_test import USUAL, Speeds, judged_speeds

SUBJECTS = [
    "versions", "settings", "ports", "memory", "cluster", "processor", "cores", "state directory", "packed models",
    "compiled kernels", "compiled kernels", "file descriptors", "clock",
]  # fmt: skip


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A configuration on free ports."""
    path = tmp_path / "cactus.toml"
    endpoints = 'jobs_endpoint = "tcp://127.0.0.1:*"\nstream_endpoint = "tcp://127.0.0.1:*"\nhttp = ""\n'
    path.write_text(f'{endpoints}state_dir = "{tmp_path / "state"}"\n')
    return path


def test_every_part_of_the_machine_is_examined(
    cactus: Callable[..., typer.testing.Result], config: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    result = cactus("doctor", "--config", str(config), "--no-self-test", "--json")
    report = json.loads(result.stdout)
    assert [finding["subject"] for finding in report["findings"]] == SUBJECTS
    bad = [finding for finding in report["findings"] if finding["grade"] == "bad"]
    assert (report["is_healthy"], result.exit_code) == (not bad, int(bool(bad)))
    assert all(finding.get("advice") for finding in report["findings"] if finding["grade"] != "good")
    assert not (tmp_path / "state").exists()
    monkeypatch.setenv("COLUMNS", "80")
    shown = cactus("doctor", "--config", str(config), "--no-self-test").stdout
    assert [line.split("  ")[0] for line in shown.splitlines() if line[0] not in " 0123456789"] == SUBJECTS
    assert max(map(len, shown.splitlines())) <= 80


def test_settings_that_are_refused_end_with_an_error(
    cactus: Callable[..., typer.testing.Result], config: Path, tmp_path: Path
) -> None:
    config.write_text(f'http = "0.0.0.0:8080"\nstate_dir = "{tmp_path / "state"}"\n')
    result = cactus("doctor", "--config", str(config), "--no-self-test")
    assert result.exit_code == 1
    [refused] = [line for line in result.stdout.splitlines() if line.startswith("settings")]
    assert refused.split()[1] == "bad"
    assert "1 finding that must be changed" in result.stdout


@pytest.mark.slow
def test_kernels_and_memory_are_measured() -> None:
    kernels, memory = self_test.self_test()
    assert (kernels.subject, memory.subject) == ("speed", "memory bandwidth")
    if kernels.figures:  # they were compiled before
        assert kernels.figures["prefill_tokens_per_second"] > 0
    assert memory.figures["one_thread_bytes_per_second"] > 0


def test_speeds_are_judged_beside_those_of_such_machines_by_the_time_on_a_core() -> None:
    usual = Speeds(*USUAL["avx2"])
    alone = judged_speeds("avx2", usual, 1.0)
    assert alone.grade == "good"
    assert f"tokens/s (usual: {usual.prefill:,}) and writes" in alone.text
    third = Speeds(usual.prefill / 3, usual.decode / 3)
    slow, crowded = judged_speeds("avx2", third, 1.0), judged_speeds("avx2", third, 1 / 3)
    assert (slow.grade, "its clock" in slow.advice) == ("note", True)
    assert (crowded.grade, "other programs" in crowded.advice) == ("note", True)
    assert judged_speeds("portable", Speeds(1.0, 1.0), 1.0).grade == "good"


def test_nothing_is_compiled_to_be_measured(tmp_path: Path) -> None:
    program = "from cactus_actors.doctor.self_test import self_test as it; print(next(it()).advice)"
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", program]
    finished = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=True)
    assert finished.stdout.startswith("run cactus warm")
    assert [*tmp_path.rglob("*.nbc")] == []

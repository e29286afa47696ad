"""The process that compiles the sampler while a worker compiles the step."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numba
import pytest

from cactus_actors.workers.loading.compile_process import CompileProcess

LIMIT_S = 300.0
NUM_COMPILED = """
from numba.core.event import install_recorder
from cactus_actors.workers.engine.sampler import Sampler
with install_recorder("numba:compile") as recorder:
    Sampler([2, 5])
print(len(recorder.buffer))
"""


@pytest.fixture
def compiler() -> Iterator[CompileProcess]:
    compiler = CompileProcess(num_cpus=2)
    yield compiler
    compiler.end()


def test_the_second_compiler_starts_once_when_something_is_compiled(compiler: CompileProcess) -> None:
    compiled = numba.njit(lambda number: number + 1)
    with compiler.start_on_compile():
        assert compiler.process is None
        compiled(1)
        first = compiler.process
        compiled(1.0)
    assert first is not None
    assert compiler.process is first


def test_it_does_not_start_without_compilation_or_without_a_worker(compiler: CompileProcess) -> None:
    compiled = numba.njit(lambda number: number + 1)
    compiled(1)
    with compiler.start_on_compile():
        compiled(1)
    compiled(1.0)
    assert compiler.process is None


def test_it_does_not_use_the_only_processor() -> None:
    compiler = CompileProcess(num_cpus=1)
    compiler.start()
    assert compiler.process is None
    compiler.end()


def test_it_ends_with_its_worker(compiler: CompileProcess) -> None:
    compiler.start()
    assert compiler.process is not None
    compiler.end()
    assert compiler.process.returncode is not None


def test_it_does_not_outlive_its_worker() -> None:
    """A process whose parent differs from the given one ends before it compiles anything."""
    command = [sys.executable, "-m", "cactus_actors.workers.loading.compile_process", "0"]
    assert subprocess.run(command, timeout=LIMIT_S, check=False).returncode == os.EX_UNAVAILABLE


@pytest.mark.slow
def test_workers_load_its_compiled_code(
    compiler: CompileProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    compiler.start()
    assert compiler.process is not None
    assert compiler.process.wait(LIMIT_S) == 0
    command = [sys.executable, "-c", NUM_COMPILED]
    found = subprocess.run(command, timeout=LIMIT_S, check=True, capture_output=True, text=True)
    assert found.stdout == "0\n"

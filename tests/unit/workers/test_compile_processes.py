"""The processes that compile what a worker finds not compiled."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import msgspec
import numba
import pytest

from cactus_actors.config import WorkerSettings
from cactus_actors.workers.loading.compile_events import NotCompiled, refuse_to_compile
from cactus_actors.workers.loading.compile_process import CompileProcesses
from cactus_actors.workers.loading.progress import LoadingProgress, LoadingState, combined

LIMIT_S = 600.0
NO_MODEL = WorkerSettings(worker_id="w", model="/no/such/model")
PARTS = [(1, [["packing", "step", "sampler"]]), (2, [["step"], ["packing", "sampler"]])]
LOAD = """
from numba.core.event import install_recorder
from cactus_actors.config import WorkerSettings
from cactus_actors.workers.actor import load
from cactus_actors.workers.loading.progress import LoadingProgress
progress = LoadingProgress()
with install_recorder("numba:compile") as recorder:
    load(WorkerSettings(worker_id="w", model="cactus-sprout", threads=2), progress).close()
names = [event.data["dispatcher"].py_func.__name__ for _, event in recorder.buffer if event.is_end]
print(names, progress.has_compiled, progress.num_compiled > 20, progress.phase)
"""


def test_what_is_not_compiled_is_refused() -> None:
    compiled = numba.njit(lambda number: number + 1)
    with refuse_to_compile(), pytest.raises(NotCompiled):
        compiled(1)
    with refuse_to_compile():
        thread = threading.Thread(target=compiled, args=(1,))
        thread.start()
        thread.join()
        assert compiled(2) == 3


@pytest.mark.parametrize(("num_cpus", "parts"), PARTS)
def test_step_and_sampler_are_compiled_side_by_side_on_two_processors(num_cpus: int, parts: list[list[str]]) -> None:
    with CompileProcesses(NO_MODEL, num_cpus) as compiling:
        commands = [process.args for process in compiling.processes]
    assert [each[-len(part) :] for each, part in zip(commands, parts, strict=True)] == parts  # type: ignore[index]


def test_they_end_with_their_context() -> None:
    with CompileProcesses(NO_MODEL, num_cpus=2) as compiling:
        pass
    assert None not in [process.returncode for process in compiling.processes]


def test_they_do_not_outlive_their_worker() -> None:
    """A process whose parent differs from the given one ends before it compiles anything."""
    command = [sys.executable, "-m", "cactus_actors.workers.loading.compile_process", "0", "sampler"]
    finished = subprocess.run(command, stdin=subprocess.DEVNULL, timeout=LIMIT_S, check=False)
    assert finished.returncode == os.EX_UNAVAILABLE


def test_a_model_that_does_not_load_is_left_to_the_worker() -> None:
    told: list[LoadingState] = []
    with CompileProcesses(NO_MODEL, num_cpus=1) as compiling:
        compiling.wait(told.append)
        assert [process.returncode for process in compiling.processes] == [0]
    assert told == []


def test_a_worker_shows_the_progress_of_the_process_that_loads_its_model() -> None:
    there, shown = LoadingProgress(), []
    here = LoadingProgress(lambda changed: shown.append((changed.phase, changed.share_done, changed.compiling)))
    there.on_packed(1, 4)
    here.follow(there.state)
    there.on_packed(4, 4)
    there.on_compiling(1, "step")
    here.follow(msgspec.json.decode(msgspec.json.encode(there.state), type=LoadingState))
    there.on_compiling(-1, "step")
    here.follow(there.state)
    assert shown == [("packing", 0.25, ""), ("compiling", None, "step"), ("loading", None, "")]
    assert here.has_packed
    assert here.num_compiled == 1


def test_the_state_of_two_processes_is_the_packing_of_the_one_and_what_both_compiled() -> None:
    packing, compiling = LoadingProgress(), LoadingProgress()
    packing.on_packed(1, 4)
    for change, function in [(1, "step"), (1, "attend"), (-1, "attend")]:
        compiling.on_compiling(change, function)
    first = combined([compiling.state, packing.state])
    packing.on_packed(4, 4)
    for change in (1, -1):
        packing.on_compiling(change, "sampler")
    then = combined([compiling.state, packing.state])
    assert [(state.phase, state.share_done, state.has_packed, state.num_compiled) for state in (first, then)] == [
        ("packing", 0.25, True, 1),
        ("compiling", None, True, 2),
    ]
    assert (first.compiling, then.compiling) == ("", "step")


@pytest.mark.slow
def test_a_worker_that_finds_nothing_compiled_compiles_nothing_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "compiled"))
    monkeypatch.setenv("CACTUS_CACHE_DIR", str(tmp_path / "packed"))
    lives = [
        subprocess.run([sys.executable, "-c", LOAD], timeout=LIMIT_S, check=True, capture_output=True, text=True)
        for _ in range(2)
    ]
    # The first function was refused.
    assert [life.stdout for life in lives] == ["['_pack'] True True loading\n", "[] False False loading\n"]

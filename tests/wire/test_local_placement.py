"""Actors as processes: they answer, their end is detected at once, and none outlives its placement."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cactus_actors.config import WorkerSettings
from cactus_actors.placement.actor_kinds import WORKER
from cactus_actors.placement.interface import ActorLost
from cactus_actors.placement.local import LocalPlacement
from cactus_actors.placement.local.core_pool import CorePool
from cactus_actors.process.cpu_cores import Core
from cactus_actors.protocol.errors import CactusError, ConfigurationInvalid, Unavailable
from tests.support.paths import ROOT
from tests.support.processes.placed_actor import PLACED, PlacedSettings
from tests.support.router.scripted_router import until

SOON_S = 60.0
PARENT = """
import sys, time
from pathlib import Path
from cactus_actors.placement.local import LocalPlacement
from tests.support.processes.placed_actor import PLACED, PlacedSettings
placement = LocalPlacement(Path(sys.argv[1]), print)
actor = placement.start(PLACED, PlacedSettings(), name="one")
print(actor.pid, actor.ask("child_pid").result(60.0), flush=True)
time.sleep(3600.0)
"""


@pytest.fixture
def lines() -> list[str]:
    return []


@pytest.fixture
def placement(tmp_path: Path, lines: list[str]) -> Iterator[LocalPlacement]:
    placement = LocalPlacement(tmp_path, lines.append)
    yield placement
    placement.close()


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_an_actor_is_constructed_from_its_settings_and_answers(placement: LocalPlacement) -> None:
    settings = PlacedSettings(word="α" * 100_000)
    actor = placement.start(PLACED, settings, name="one")
    assert actor.ask("settings").result(SOON_S) == settings
    assert actor.ask("pid").result(SOON_S) == actor.pid != os.getpid()
    assert actor.ask("start").result(SOON_S) == "MainThread"
    assert os.getpgid(actor.pid) == actor.pid


def test_run_returns_the_result_of_the_actor(placement: LocalPlacement) -> None:
    actor = placement.start(PLACED, PlacedSettings(), name="one")
    actor.run("and", "gone")
    assert actor.ask("pid").result(SOON_S) == actor.pid
    assert actor.exit_info() is None
    actor.notify("stop")
    until(lambda: actor.exit_info() is not None, SOON_S)
    exit_info = actor.exit_info()
    assert exit_info is not None
    assert (exit_info.reason, exit_info.error, exit_info.is_lost) == ("stopped and gone", None, False)
    until(lambda: not is_alive(actor.pid), SOON_S)


def test_errors_of_an_actor_are_typed_and_unexpected_ones_are_printed(
    placement: LocalPlacement, lines: list[str]
) -> None:
    actor = placement.start(PLACED, PlacedSettings(), name="one")
    with pytest.raises(ConfigurationInvalid, match="not this") as caught:
        actor.ask("refuse").result(SOON_S)
    assert caught.value.param == "that"
    with pytest.raises(CactusError, match="ZeroDivisionError"):
        actor.ask("divide", 0).result(SOON_S)
    assert actor.ask("divide", 1).result(SOON_S) == 1
    until(lambda: any(line.startswith("one: ZeroDivisionError") for line in lines), SOON_S)


def test_a_failing_constructor_is_reported_with_its_reason(placement: LocalPlacement) -> None:
    actor = placement.start(PLACED, PlacedSettings(refuses=True), name="one")
    with pytest.raises(ConfigurationInvalid, match="it refuses"):
        actor.ask("start").result(SOON_S)
    with pytest.raises(ConfigurationInvalid, match="it refuses"):
        actor.ask("pid").result(SOON_S)
    actor.run()
    until(lambda: actor.exit_info() is not None, SOON_S)
    exit_info = actor.exit_info()
    assert exit_info is not None
    assert isinstance(exit_info.error, ConfigurationInvalid)


def test_a_killed_actor_is_lost_at_once_for_all_waiting_calls(placement: LocalPlacement) -> None:
    actor = placement.start(PLACED, PlacedSettings(), name="one")
    child = actor.ask("child_pid").result(SOON_S)
    actor.run()
    sleeping = actor.ask("sleep")
    with pytest.raises(Unavailable, match="longer than 0 s"):
        sleeping.result(0.1)
    os.kill(actor.pid, signal.SIGKILL)
    with pytest.raises(ActorLost, match="SIGKILL"):
        sleeping.result(SOON_S)
    exit_info = actor.exit_info()
    assert exit_info is not None
    assert exit_info.is_lost
    with pytest.raises(ActorLost):
        actor.ask("pid").result(0.0)
    until(lambda: not is_alive(child), SOON_S)


def test_ending_an_actor_kills_a_stopped_process_and_its_children(placement: LocalPlacement) -> None:
    actor = placement.start(PLACED, PlacedSettings(), name="one")
    child = actor.ask("child_pid").result(SOON_S)
    os.kill(actor.pid, signal.SIGSTOP)
    actor.terminate()
    assert not is_alive(actor.pid)
    until(lambda: not is_alive(child), SOON_S)


def affinities(pid: int) -> list[set[int]]:
    """The CPUs of each thread of a process."""
    return [os.sched_getaffinity(int(thread.name)) for thread in Path(f"/proc/{pid}/task").iterdir()]


@pytest.mark.skipif(len(os.sched_getaffinity(0)) == 1, reason="there is one CPU")
def test_a_worker_that_has_loaded_its_model_has_a_core_that_other_actors_leave_alone(tmp_path: Path) -> None:
    own, other, *_ = sorted(os.sched_getaffinity(0))
    cores = [Core(0, frozenset({own, 200_000})), *(Core(0, frozenset({other, number})) for number in (1001, 1002))]
    placement = LocalPlacement(tmp_path, print, CorePool(cores, 1))
    try:
        worker, unpinned = (placement.start(WORKER, WorkerSettings(worker_id=it), name=it, num_cpus=1) for it in "ab")
        router = placement.start(PLACED, PlacedSettings(), name="router")
        worker.run("tcp://127.0.0.1:1")
        assert router.ask("pid").result(SOON_S) == router.pid
        assert {other} in affinities(router.pid)
        assert own in os.sched_getaffinity(unpinned.pid)
        until(lambda: all(cpus == {own} for cpus in affinities(worker.pid)), SOON_S)
        worker.terminate()
        until(lambda: not is_alive(worker.pid), SOON_S)
        again = placement.start(WORKER, WorkerSettings(worker_id="c"), name="c", num_cpus=1)
        assert [core.cpus for core in again.cores] == [cores[0].cpus]
    finally:
        placement.close()


def test_a_flood_of_output_is_truncated_and_blocks_no_process(placement: LocalPlacement, lines: list[str]) -> None:
    actor = placement.start(PLACED, PlacedSettings(), name="one")
    actor.ask("say", "\n".join(["line"] * 100_000)).done()
    assert actor.ask("divide", 1).result(SOON_S) == 1
    until(lambda: "one: more lines are dropped" in lines, SOON_S)
    assert len(lines) < 1000


def test_the_directory_of_a_service_is_private_and_removed_with_it(tmp_path: Path) -> None:
    placement = LocalPlacement(tmp_path, print)
    endpoint = placement.workers_endpoint()
    assert endpoint.startswith("ipc://")
    assert len(endpoint) < 107
    (directory,) = (tmp_path / "run").iterdir()
    assert directory.stat().st_mode & 0o777 == 0o700
    placement.close()
    placement.close()
    assert list((tmp_path / "run").iterdir()) == []


@pytest.mark.skipif(sys.platform != "linux", reason="asks the kernel")
def test_a_killed_service_leaves_no_process(tmp_path: Path) -> None:
    assert left_after(tmp_path, signal.SIGKILL) == []


@pytest.mark.skipif(sys.platform != "linux", reason="asks the kernel")
def test_only_files_of_dead_services_are_removed(tmp_path: Path) -> None:
    left = tmp_path / "run" / "1-dead"
    left.mkdir(parents=True)
    (left / "workers").touch()
    first = LocalPlacement(tmp_path, print)
    second = LocalPlacement(tmp_path, print)
    assert len(list((tmp_path / "run").iterdir())) == 2
    assert not left.exists()
    first.close()
    second.close()


def left_after(state_dir: Path, number: signal.Signals) -> list[Path]:
    """Start a placement in a separate process and end it; returns the files left in its directory."""
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, str(state_dir)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as parent:
        assert parent.stdout is not None
        pids = [int(word) for word in parent.stdout.readline().split()]
        assert len(pids) == 2
        assert all(map(is_alive, pids))
        parent.send_signal(number)
        parent.wait()
        ended_at = time.monotonic()
        until(lambda: not any(map(is_alive, pids)), SOON_S)
        directory = state_dir / "run"
        until(lambda: not list(directory.iterdir()), SOON_S)
        print(f"nothing was left after {time.monotonic() - ended_at:.2f} s")
        return list(directory.iterdir())

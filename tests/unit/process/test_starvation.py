"""Slow is not dead: only the seconds count in which the system let a process run."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from cactus_actors.process import starvation
from cactus_actors.process.starvation import FairSeconds, MachinePressure
from cactus_actors.router.process.loop_delay import PRESSURE_INTERVAL_S, LoopDelay

PID, THREAD = 7, 8
WriteThread = Callable[[int, float, float, str], None]


@pytest.fixture
def write_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> WriteThread:
    """Write the system's values for a thread: seconds on a processor and in wait for one, and its state."""
    monkeypatch.setattr(starvation, "PROCESSES", tmp_path)
    monkeypatch.setattr(starvation, "PRESSURE_FILES", ())

    def write(thread: int, ran_s: float, waited_s: float, state: str) -> None:
        directory = tmp_path / str(PID) / "task" / str(thread)
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "schedstat").write_text(f"{int(ran_s * 1e9)} {int(waited_s * 1e9)} 5\n")
        (directory / "stat").write_text(f"{thread} (a name) {state} 1 1 1")

    return write


def pressure_file(directory: Path, total_s: float) -> Path:
    path = directory / "cpu"
    path.write_text(f"some avg10=1.00 avg60=1.00 avg300=1.00 total={int(total_s * 1e6)}\nfull avg10=0.00\n")
    return path


def test_the_seconds_of_a_process_that_sleeps_or_is_stopped_count(write_thread: WriteThread) -> None:
    write_thread(PID, 1.0, 5.0, "T")
    fair = FairSeconds(PID, 0.0, max_step_s=1.0)
    assert fair.elapsed(0.5) == 0.5
    assert fair.elapsed(1.0) == 1.0


def test_the_seconds_that_a_thread_waited_to_run_do_not_count(write_thread: WriteThread) -> None:
    write_thread(PID, 1.0, 5.0, "S")
    write_thread(THREAD, 1.0, 5.0, "R")
    fair = FairSeconds(PID, 0.0, max_step_s=1.0)
    write_thread(THREAD, 1.25, 5.25, "R")
    assert fair.elapsed(0.5) == 0.25
    assert fair.elapsed(1.0) == 0.25  # it has waited since then, which the sum does not contain yet
    write_thread(THREAD, 1.5, 5.75, "R")
    assert fair.elapsed(1.75) == 0.5


def test_the_seconds_of_a_process_that_spins_count(write_thread: WriteThread) -> None:
    write_thread(PID, 1.0, 5.0, "R")
    fair = FairSeconds(PID, 0.0, max_step_s=1.0)
    write_thread(PID, 1.5, 5.0, "R")
    assert fair.elapsed(0.5) == 0.5


def test_a_process_that_waits_for_a_disk_is_not_dead(write_thread: WriteThread) -> None:
    write_thread(PID, 1.0, 5.0, "D")
    fair = FairSeconds(PID, 0.0, max_step_s=1.0)
    assert fair.elapsed(0.5) == 0.0


def test_a_late_observation_counts_at_most_one_step(write_thread: WriteThread) -> None:
    write_thread(PID, 1.0, 5.0, "S")
    fair = FairSeconds(PID, 0.0, max_step_s=0.5)
    assert fair.elapsed(60.0) == 0.5


def test_unobservable_processes_are_judged_by_the_load_of_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(starvation, "PRESSURE_FILES", (pressure_file(tmp_path, 100.0),))
    fair = FairSeconds(None, 0.0, max_step_s=1.0)
    assert fair.elapsed(0.5) == 0.5
    pressure_file(tmp_path, 100.5)
    assert fair.elapsed(1.0) == pytest.approx(0.6)


def test_without_scheduler_statistics_every_second_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starvation, "PROCESSES", tmp_path)
    monkeypatch.setattr(starvation, "PRESSURE_FILES", (tmp_path / "none",))
    fair = FairSeconds(PID, 0.0, max_step_s=1.0)
    assert fair.elapsed(0.5) == 0.5


@pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="the kernel does not say")
def test_this_system_reports_thread_times() -> None:
    times = starvation._thread_times(os.getpid())
    assert times
    assert all(ran > 0 for ran, _, _ in times.values())


def test_a_late_tick_excuses_its_delay_and_a_punctual_one_nothing(tmp_path: Path) -> None:
    lateness = LoopDelay(0.05, MachinePressure(()))
    assert lateness.excused_s(10.0, 0.05) == 0.0
    assert lateness.excused_s(10.05, 0.05) == 0.0
    assert lateness.excused_s(15.05, 0.05) == pytest.approx(4.9)
    assert lateness.excused_s(15.1, 0.05) == 0.0


def test_at_rest_a_tick_is_late_only_after_its_planned_time() -> None:
    lateness = LoopDelay(0.05, MachinePressure(()))
    assert lateness.excused_s(10.0, 0.05) == 0.0
    assert lateness.excused_s(10.25, 0.25) == 0.0
    assert lateness.excused_s(10.3, 0.25) == 0.0  # a message arrived
    assert lateness.excused_s(12.3, 0.25) == pytest.approx(1.7)


def test_time_under_pressure_is_mostly_excused_once(tmp_path: Path) -> None:
    path = pressure_file(tmp_path, 50.0)
    lateness = LoopDelay(0.5, MachinePressure((path,)))
    assert lateness.excused_s(10.0, 0.5) == 0.0
    pressure_file(tmp_path, 51.0)
    assert lateness.excused_s(10.5, 0.5) == 0.0
    assert lateness.excused_s(10.0 + PRESSURE_INTERVAL_S, 0.5) == pytest.approx(0.8)
    assert lateness.excused_s(10.5 + PRESSURE_INTERVAL_S, 0.5) == 0.0

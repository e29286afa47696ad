"""Messages during a start: each phase once per worker, and the missing parts if nothing proceeds."""

from __future__ import annotations

from pathlib import Path

import numba
import pytest

from cactus_actors.fleet.actor_handle import MAX_STEP_S
from cactus_actors.fleet.readiness import StallTimeout
from cactus_actors.fleet.start_phases import PhaseAnnouncer, StartPhase
from cactus_actors.process import starvation
from cactus_actors.protocol.errors import Unavailable
from cactus_actors.workers.loading.progress import LoadingProgress


@pytest.fixture(autouse=True)
def _quiet_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(starvation, "PRESSURE_FILES", ())


def test_each_phase_of_each_worker_is_printed_once() -> None:
    lines: list[str] = []
    show = PhaseAnnouncer(lines.append)
    for share in (None, 0.1, 0.2):
        show(StartPhase("worker-1", "packing", share))
    show(StartPhase("worker-2", "packing"))
    show(StartPhase("worker-1", "compiling"))
    assert [line.split(":")[0] for line in lines] == ["worker-1", "worker-2", "worker-1"]
    assert "packing" in lines[0]
    assert "compiling" in lines[2]


def test_a_start_may_last_as_long_as_it_progresses() -> None:
    patience = StallTimeout(2.0, 0.0)
    for step in range(100):
        patience.check(step * MAX_STEP_S, step // 4, "it packs")
    with pytest.raises(Unavailable, match=r"no progress for 2 s: it packs .*ready_timeout_s"):
        stand_still(patience, 100)


def test_a_start_on_a_starved_machine_may_last_longer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stalled_s = 0.0

    def total(_: Path) -> float:
        nonlocal stalled_s
        stalled_s += MAX_STEP_S
        return stalled_s

    monkeypatch.setattr(starvation, "PRESSURE_FILES", (tmp_path,))
    monkeypatch.setattr(starvation, "_total_s", total)
    patience = StallTimeout(2.0, 0.0)
    for step in range(12):
        patience.check(step * MAX_STEP_S, None, "it loads")
    with pytest.raises(Unavailable):
        stand_still(patience, 12)


def stand_still(patience: StallTimeout, first: int) -> None:
    for step in range(first, first + 60):
        patience.check(step * MAX_STEP_S, None, "it packs")


def test_a_loading_worker_reports_how_much_is_packed() -> None:
    progress = LoadingProgress()
    assert (progress.phase, progress.share_done) == ("loading", None)
    progress.on_packed(1, 4)
    assert (progress.phase, progress.share_done) == ("packing", 0.25)
    progress.on_packed(4, 4)
    assert (progress.phase, progress.share_done) == ("loading", None)


def test_a_worker_reports_compilation_only_while_it_compiles() -> None:
    seen: list[tuple[str, str, int]] = []

    def on_change(changed: LoadingProgress) -> None:
        seen.append((changed.phase, changed.compiling, changed.num_compiled))

    @numba.njit
    def inner(number):
        return number + 1

    @numba.njit
    def outer(number):
        return inner(number) + 1

    progress = LoadingProgress(on_change)
    with progress.track_compilation():
        assert outer(1) == 3
        assert outer(2) == 4
    assert seen == [
        ("compiling", "outer", 0),
        ("compiling", "inner", 0),
        ("compiling", "outer", 1),
        ("loading", "", 2),
    ]


def test_a_phase_names_the_function_that_is_compiled_now() -> None:
    phase = StartPhase("worker-1", "compiling", num_compiled=87, compiling="attend")
    assert phase.now == "worker-1: compiling attend, 87 functions so far"
    packing = StartPhase("worker-1", "packing", 0.5)
    assert packing.now == packing.text

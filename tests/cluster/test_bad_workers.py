"""Workers that cannot load, die while they load, or hang: the fleet replaces them, with increasing delays."""

from __future__ import annotations

import os
import re
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from cactus_actors.config import ServeConfig
from cactus_actors.fleet.actor_handle import HealthTimeouts
from cactus_actors.models.catalog import resolve_model
from tests.support.processes.faulty_worker import FAULTY_WORKER, HANGS_ONCE, SLEEPS_ONCE, armed_faults
from tests.support.processes.open_sockets import parent_of
from tests.support.processes.serve_command import is_called
from tests.support.router.scripted_router import until
from tests.support.services.running_service import OPTIONS, STORY, Running, local_workers, running_service, wait_until

pytestmark = pytest.mark.chaos


@contextmanager
def two_workers(
    place: dict[str, Any], state_dir: Path, service: dict[str, Any] | None = None, **changes: Any
) -> Iterator[Running]:
    config = ServeConfig(
        workers=2,
        jobs_endpoint="tcp://127.0.0.1:*",
        stream_endpoint="tcp://127.0.0.1:*",
        state_dir=state_dir,
        http="",
        **place,
        **changes,
    )
    with running_service(config, **(service or {})) as running:
        yield running


def kill_one(running: Running) -> None:
    victim = next(worker for worker in running.client.status().workers if worker.kind == "local")
    os.kill(victim.pid, signal.SIGKILL)


def delays(running: Running) -> list[int]:
    """The announced seconds between a worker's death and the next start."""
    found = (re.search(r"a new one in (\d+) s", line) for line in running.lines)
    return [int(match[1]) for match in found if match is not None]


def waits(running: Running) -> list[float]:
    """The measured seconds between a worker's death and the next start."""
    said = list(zip(running.lines, running.said_at, strict=False))
    deaths = [at for line, at in said if "a new one in" in line]
    starts = [at for line, at in said if line.endswith("starts")]
    return [min(start for start in starts if start > death) - death for death in deaths[: len(starts) - 2]]


def test_workers_that_cannot_load_are_restarted_with_increasing_delays(place: dict[str, Any], tmp_path: Path) -> None:
    model = tmp_path / "model"
    shutil.copytree(resolve_model("cactus-sprout"), model)
    weights, away = model / "model.safetensors", tmp_path / "away"
    with two_workers(place, tmp_path, model=str(model)) as running:
        undisturbed = running.client.complete(prompt=STORY, **OPTIONS)
        weights.rename(away)
        kill_one(running)
        until(lambda: len(delays(running)) == 4, 60.0)
        assert delays(running) == [0, 1, 2, 4]
        assert all(waited >= told for told, waited in zip(delays(running), waits(running), strict=False))
        assert sum(line.endswith("starts") for line in running.lines) == 2 + 3
        for _ in range(4):  # the other one continues
            assert running.client.complete(prompt=STORY, **OPTIONS).token_ids == undisturbed.token_ids
        away.rename(weights)
        status = wait_until(running.client, lambda status: len(local_workers(status)) == 2)
        assert status.jobs.failed == 0


def test_a_worker_that_is_killed_while_it_loads_costs_nothing(place: dict[str, Any], tmp_path: Path) -> None:
    with two_workers(place, tmp_path) as running:
        undisturbed = running.client.complete(prompt=STORY, **OPTIONS)
        known = {worker.pid for worker in running.client.status().workers}
        starters = {parent_of(pid) for pid in known}
        kill_one(running)
        jobs = [running.client.submit(prompt=STORY, **OPTIONS) for _ in range(8)]
        until(lambda: bool(loading(known, starters)))
        os.kill(loading(known, starters).pop(), signal.SIGKILL)
        until(lambda: len(delays(running)) == 2, 60.0)
        status = wait_until(running.client, lambda status: len(local_workers(status)) == 2)
        assert len(delays(running)) == 2
        assert all(running.client.result(job).token_ids == undisturbed.token_ids for job in jobs)
        assert status.jobs.failed == 0


def loading(known: set[int], starters: set[int]) -> set[int]:
    """New processes of workers, started by any of the processes `starters`."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            pid = int(path.parent.name)
            if is_called(path.read_text(), "WorkerActor") and parent_of(pid) in starters:
                found.add(pid)
    return found - known


@pytest.mark.parametrize(("token", "fault"), [(HANGS_ONCE, "hang"), (SLEEPS_ONCE, "sleep")])
def test_a_worker_that_hangs_in_a_step_is_ended_and_replaced(
    place: dict[str, Any], tmp_path: Path, token: int, fault: str
) -> None:
    impatient = {"worker_kind": FAULTY_WORKER, "timeouts": HealthTimeouts(hung_s=5.0, stuck_s=5.0)}
    with two_workers(place, tmp_path, impatient) as running:
        undisturbed = running.client.complete(prompt=STORY, **OPTIONS)
        before = {worker.pid for worker in running.client.status().workers if worker.kind == "local"}
        (armed_faults() / fault).touch()
        jobs = [running.client.submit(prompt=STORY, **OPTIONS) for _ in range(8)]
        springs = running.client.submit(prompt=[token, 5, 6], max_tokens=4, ignore_eos=True)
        assert len(running.client.result(springs).token_ids) == 4
        assert all(running.client.result(job).token_ids == undisturbed.token_ids for job in jobs)
        status = wait_until(running.client, lambda status: len(local_workers(status)) == 2)
        after = {worker.pid for worker in status.workers if worker.kind == "local"}
        (hung,) = before - after
        until(lambda: not Path(f"/proc/{hung}").exists())
        assert any("does not answer; it is killed" in line for line in running.lines)
        assert status.jobs.failed == 0

"""An interrupted start ends at once: it does not wait for actors that are not ready, nor ask them to stop."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import NoReturn

import pytest

from cactus_actors.config import ServeConfig
from cactus_actors.fleet.actor_handle import HealthTimeouts
from cactus_actors.fleet.start_phases import StartPhase
from cactus_actors.service.service import Service
from tests.support.processes.placed_actor import LOADING
from tests.support.processes.serve_command import below
from tests.support.router.scripted_router import until

STOP_S = 600.0
"""The service would wait this long for an actor that it asks to stop."""

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at /proc")


class Interrupt(BaseException):
    """A signal during the start, as its handler raises it."""


@pytest.mark.parametrize("is_router_ready", [False, True], ids=["nothing is ready", "only workers load"])
def test_an_interrupted_start_does_not_wait_for_loading_actors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_router_ready: bool
) -> None:
    monkeypatch.setenv("CACTUS_CLOUD_KEY", "nobody-takes-it")
    before = set(below(os.getpid()))
    started: set[int] = set()
    interrupted_at = 0.0

    def interrupt() -> NoReturn:
        nonlocal interrupted_at
        started.update(set(below(os.getpid())) - before)
        interrupted_at = time.monotonic()
        raise Interrupt

    def announce(line: str) -> None:
        if line == "worker-1 starts" and not is_router_ready:
            interrupt()

    def show_phase(phase: StartPhase) -> None:
        if phase.name == "loading" and len(below(os.getpid())) > len(before) + 4:
            interrupt()

    config = ServeConfig(
        jobs_endpoint="tcp://127.0.0.1:*", stream_endpoint="tcp://127.0.0.1:*", http="127.0.0.1:0", state_dir=tmp_path
    )
    service = Service(
        config, announce, show_phase=show_phase, worker_kind=LOADING, timeouts=HealthTimeouts(stop_s=STOP_S)
    )
    with pytest.raises(Interrupt):
        service.start()
    assert time.monotonic() - interrupted_at < STOP_S / 2
    assert len(started) >= 4  # router, gateway, handoff actor and worker
    until(lambda: not started & set(below(os.getpid())), 60.0)

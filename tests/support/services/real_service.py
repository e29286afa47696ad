"""Router, worker and gateways of an embedded model in threads of this process, for tests of clients."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from cactus_actors.client import Client
from cactus_actors.config import GatewaySettings, HandoffSettings, RouterSettings, WorkerSettings
from cactus_actors.config_models import DEFAULT_MODEL
from cactus_actors.gateway.server import GatewayServer
from cactus_actors.handoff.actor import HandoffActor
from cactus_actors.models.catalog import resolve_model
from cactus_actors.router.actor import RouterActor
from cactus_actors.text import load_text_model
from cactus_actors.workers.actor import WorkerActor
from tests.support.http.trust_nobody import TRUST_NOBODY
from tests.support.router.scripted_router import until
from tests.support.router.standing_objects import exempt_standing_objects

ANY_PORT = "tcp://127.0.0.1:*"
START_WITHIN_S = 240.0
IDLE_WITHIN_S = 240.0
KEY = "sk-of-the-tests-0123456789abcdef"


class RealService:
    """A running service; `url` requires no key, `start_gateway` opens another gateway to the same router."""

    def __init__(self, state_dir: Path, *, num_workers: int = 1, model: str = DEFAULT_MODEL) -> None:
        self._state_dir = state_dir
        self._text = load_text_model(resolve_model(model))
        self._router = RouterActor(RouterSettings(model=model, jobs_endpoint=ANY_PORT, stream_endpoint=ANY_PORT))
        exempt_standing_objects()
        self._endpoints = self._router.start()
        self._running: list[tuple[Callable[[], None], threading.Thread]] = []
        self._run(self._router.stop, self._router.run)
        for number in range(num_workers):
            worker = WorkerActor(WorkerSettings(worker_id=f"w{number}", model=model))
            self._run(worker.stop, functools.partial(worker.run, self._endpoints.workers))
        self.url = self.start_gateway()
        self.client = Client(self._endpoints.jobs, self._endpoints.stream, timeout=30)
        until(lambda: self.num_workers == num_workers, START_WITHIN_S)

    @property
    def endpoints(self) -> tuple[str, str]:
        """Those of jobs and of streams, for clients."""
        return self._endpoints.jobs, self._endpoints.stream

    @property
    def num_workers(self) -> int:
        """The number of ready workers."""
        return sum(worker.state == "ready" for worker in self.client.status().workers)

    @property
    def is_idle(self) -> bool:
        """True if no job is queued or running, and all blocks are free again."""
        status = self.client.status()
        return status.jobs.queued + status.jobs.running == 0 and all(
            worker.num_running == 0 and worker.free_blocks == worker.num_blocks for worker in status.workers
        )

    def becomes_idle(self) -> None:
        """Return when all jobs have ended; fail if that takes more than IDLE_WITHIN_S."""
        until(lambda: self.is_idle, IDLE_WITHIN_S)

    def start_gateway(self, **settings: Any) -> str:
        """Start one more gateway with these GatewaySettings; returns its URL."""
        directory = self._state_dir / str(len(self._running))
        gateway = GatewayServer(GatewaySettings(listen="127.0.0.1:0", state_dir=str(directory), **settings), self._text)
        self._run(gateway.stop, lambda: gateway.run(self._endpoints.jobs, self._endpoints.stream))
        url = f"http://{gateway.address}"
        with httpx.Client(verify=TRUST_NOBODY, timeout=START_WITHIN_S) as http:  # a worker may compile in this process
            until(lambda: http.get(f"{url}/healthz").status_code == 200)
        return url

    def hand_off_to(self, base_url: str, model: str) -> None:
        """Let a cloud at this URL answer what is handed off."""
        actor = HandoffActor(HandoffSettings(base_url=base_url, model=model, max_retries=0))
        self._run(actor.stop, functools.partial(actor.run, self._endpoints.workers))
        until(lambda: any(worker.kind == "cloud" for worker in self.client.status().workers))

    def stop(self) -> None:
        """Stop the actors, the newest first."""
        self.client.close()
        for stop, thread in reversed(self._running):
            stop()
            thread.join(60)
            assert not thread.is_alive()

    def _run(self, stop: Callable[[], None], body: Callable[[], Any]) -> None:
        thread = threading.Thread(target=body, daemon=True)
        thread.start()
        self._running.append((stop, thread))


@contextmanager
def real_service(state_dir: Path, *, num_workers: int = 1, model: str = DEFAULT_MODEL) -> Iterator[RealService]:
    """A service of an embedded model."""
    service = RealService(state_dir, num_workers=num_workers, model=model)
    try:
        yield service
    finally:
        service.stop()

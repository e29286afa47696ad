"""A service with given settings in this process, reconciled by a thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

from cactus_actors.client import Client
from cactus_actors.config import ServeConfig
from cactus_actors.process.health import Endpoints
from cactus_actors.protocol.messages import Status
from cactus_actors.service.service import Service


@dataclass
class Running:
    """A service, a client of it, and the lines that it printed, each with its time."""

    client: Client
    endpoints: Endpoints
    lines: list[str]
    said_at: list[float]
    http: str | None


@contextmanager
def running_service(config: ServeConfig, **arguments: Any) -> Iterator[Running]:
    """Start a service from `config`, reconcile it in a thread, and stop it at the end."""
    lines: list[str] = []
    said_at: list[float] = []

    def announce(line: str) -> None:
        said_at.append(time.monotonic())
        lines.append(line)

    service = Service(config, announce=announce, **arguments)
    service.start()
    stop = threading.Event()
    reconciling = threading.Thread(target=service.reconcile, args=(stop,))
    reconciling.start()
    try:
        with Client(service.endpoints.jobs, service.endpoints.stream, timeout=60.0) as client:
            yield Running(client, service.endpoints, lines, said_at, service.http)
    finally:
        stop.set()
        reconciling.join()
        service.stop()


Serve = Callable[..., AbstractContextManager[Running]]

STORY = "Tell me a story about a fox."
OPTIONS: dict[str, Any] = {"max_tokens": 160, "ignore_eos": True, "temperature": 0.9, "seed": 11}


def wait_until(client: Client, condition: Callable[[Status], bool], seconds: float = 180.0) -> Status:
    """Poll the status until `condition` holds; fail with the last status otherwise."""
    deadline = time.monotonic() + seconds
    while True:
        status = client.status()
        if condition(status):
            return status
        assert time.monotonic() < deadline, status
        time.sleep(0.1)


def local_workers(status: Status) -> list[str]:
    return [worker.worker_id for worker in status.workers if worker.kind == "local"]

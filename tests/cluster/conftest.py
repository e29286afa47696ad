"""One small Ray cluster of two nodes for the whole session, and services that stand on it."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cactus_actors.client import Client
from cactus_actors.config import HandoffSettings, ServeConfig
from router.actor import Endpoints

CPUS_A_NODE = 3


@pytest.fixture(scope="session")
def ray_cluster() -> Iterator[Any]:
    """A Ray cluster of two nodes on this machine."""
    # Ray's unix sockets need a short path, shorter than pytest's own temporary directories.
    temp_dir = Path(tempfile.mkdtemp(prefix="cactus-"))
    token = temp_dir / "token"
    token.touch(mode=0o600)
    token.write_text(secrets.token_hex(32))
    os.environ |= {
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN_PATH": str(token),
        "RAY_worker_niceness": "0",  # as in a service with a Ray of its own
    }
    from ray.cluster_utils import Cluster

    head = {"num_cpus": CPUS_A_NODE, "include_dashboard": False, "temp_dir": str(temp_dir / "ray")}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    cluster.add_node(num_cpus=CPUS_A_NODE)
    yield cluster
    cluster.shutdown()
    shutil.rmtree(temp_dir, ignore_errors=True)


@pytest.fixture(scope="session")
def ray_address(ray_cluster: Any) -> str:
    """The address of the cluster."""
    return str(ray_cluster.address)


@dataclass
class Running:
    """A service that is being tended, a client of it, and what it said, when."""

    client: Client
    endpoints: Endpoints
    lines: list[str]
    said_at: list[float]
    http: str | None


@contextmanager
def running_service(config: ServeConfig) -> Iterator[Running]:
    """Start a service from `config`, tend it in a thread, and stop it at the end."""
    from cactus_actors.cluster.service import Service

    lines: list[str] = []
    said_at: list[float] = []

    def announce(line: str) -> None:
        said_at.append(time.monotonic())
        lines.append(line)

    service = Service(config, announce=announce)
    service.start()
    stop = threading.Event()
    tending = threading.Thread(target=service.tend, args=(stop,))
    tending.start()
    try:
        with Client(service.endpoints.jobs, service.endpoints.stream) as client:
            yield Running(client, service.endpoints, lines, said_at, service.http)
    finally:
        stop.set()
        tending.join()
        service.stop()


@pytest.fixture
def serve_on_cluster(ray_address: str, tmp_path: Path) -> Callable[..., AbstractContextManager[Running]]:
    """A function that runs a service on the cluster, any free ports."""

    def serve(*, workers: int = 2, handoff: HandoffSettings | None = None) -> AbstractContextManager[Running]:
        return running_service(
            ServeConfig(
                workers=workers,
                jobs_endpoint="tcp://127.0.0.1:*",
                stream_endpoint="tcp://127.0.0.1:*",
                ray_address=ray_address,
                state_dir=tmp_path,
                http="127.0.0.1:0",
                handoff=handoff or HandoffSettings(),
            )
        )

    return serve

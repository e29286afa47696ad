"""A router and a worker as separate processes, without a service, so that each can be killed alone."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cactus_actors.keys.key_store import KeyStore

PORTS = range(10_000, 32_768)
"""Below the ports that systems give to connections: ip(7), net.ipv4.ip_local_port_range."""
ROUTER = """
import json
import sys
from cactus_actors.config import RouterSettings
from cactus_actors.router.actor import RouterActor
jobs, stream, workers, journal, keys, others = sys.argv[1:]
router = RouterActor(RouterSettings(
    jobs_endpoint=jobs, stream_endpoint=stream, workers_endpoint=workers,
    journal_dir=journal or None, keys_dir=keys or None, **json.loads(others)))
router.start()
print("ready", flush=True)
router.run()
"""

WORKER = """
import sys
from cactus_actors.config import WorkerSettings
from cactus_actors.workers.actor import WorkerActor
name, endpoint, key_file = sys.argv[1:]
WorkerActor(WorkerSettings(worker_id=name, max_sequences=8, key_file=key_file or None)).run(endpoint)
"""


def free_endpoints(count: int, host: str = "127.0.0.1") -> list[str]:
    """Ports that are free, and that no system gives to a connection before they are bound again."""
    sockets: list[socket.socket] = []
    try:
        while len(sockets) < count:
            sockets.append(socket.socket())
            try:
                sockets[-1].bind(("127.0.0.1", secrets.choice(PORTS)))
            except OSError:  # it is taken
                sockets.pop().close()
        return [f"tcp://{host}:{each.getsockname()[1]}" for each in sockets]
    finally:
        for each in sockets:
            each.close()


class Processes:
    """A router, which can be started again on the same endpoints, and workers.

    `router_prefix` and `worker_prefix` are put before the commands, such as `strace ...`. Workers find the
    router at `worker_host`, where it listens for them; off loopback every peer has a key, the client at
    `client_key`. `router_settings` are more RouterSettings.
    """

    def __init__(
        self,
        directory: Path,
        *,
        router_prefix: Sequence[str] = (),
        worker_prefix: Sequence[str] = (),
        worker_host: str = "127.0.0.1",
        num_workers: int = 1,
        router_program: str = ROUTER,
        has_journal: bool = True,
        **router_settings: Any,
    ) -> None:
        self.jobs, self.stream = free_endpoints(2)
        (self.workers_endpoint,) = free_endpoints(1, worker_host)
        self._journal = str(directory / "journal") if has_journal else ""
        self._router_settings = json.dumps(router_settings)
        self._keys, self.client_key, self._worker_key = "", "", ""
        if worker_host != "127.0.0.1":
            store = KeyStore(directory / "keys")
            store.make_server_pair()
            self._keys = str(store.directory)
            self.client_key = str(store.add("client", "client"))
            self._worker_key = str(store.add("worker", "worker"))
        self._router_prefix = router_prefix
        self._router_program = router_program
        self._worker_prefix = worker_prefix
        self.workers: list[subprocess.Popen[bytes]] = []
        self.router = self._start_router()
        self.workers = [self.start_worker(f"w{number}") for number in range(num_workers)]

    def start_worker(
        self, name: str, *, endpoint: str | None = None, program: str = WORKER, kernels: str = ""
    ) -> subprocess.Popen[bytes]:
        """Start a worker; `endpoint` is another route to the router, `program` another worker.

        `kernels` names its instruction set, in the place of the best one.
        """
        command = [*self._worker_prefix, sys.executable, "-c", program, name]
        command += [endpoint or self.workers_endpoint, self._worker_key]
        environment = {**os.environ, "CACTUS_KERNELS": kernels} if kernels else None
        return subprocess.Popen(command, start_new_session=True, env=environment)

    def add_worker(self, name: str, **options: Any) -> None:
        """Start a worker that ends with the other processes, with the options of `start_worker`."""
        self.workers.append(self.start_worker(name, **options))

    def kill_worker(self, number: int) -> None:
        _kill(self.workers[number])

    def kill_router(self) -> None:
        _kill(self.router)
        self.router = self._start_router()

    def stop(self) -> None:
        _kill(self.router)
        for worker in self.workers:
            _kill(worker)

    def _start_router(self) -> subprocess.Popen[str]:
        endpoints = [self.jobs, self.stream, self.workers_endpoint]
        command = [
            *self._router_prefix,
            sys.executable,
            "-c",
            self._router_program,
            *endpoints,
            self._journal,
        ]
        router = subprocess.Popen(
            [*command, self._keys, self._router_settings],
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert router.stdout is not None
        with router.stdout:
            first = router.stdout.readline()
        if first != "ready\n":
            _kill(router)
            raise AssertionError(f"the router did not start: {first}")
        return router


def _kill(process: subprocess.Popen[Any]) -> None:
    """Send SIGKILL to the process and to its wrapper."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()

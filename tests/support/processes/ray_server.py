"""A Ray cluster of one node that a service joins; its server can be killed, and started again as it was."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.processes.serve_command import in_sessions, is_called

NUM_CPUS = 4
START_ATTEMPTS = 3
"""Ray gives up a start after 30 s, too few for a starved machine."""


def kill_processes_of(directory: str) -> None:
    """Kill all processes that have `directory` in their command line, such as those of a failed start of Ray."""
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if f"{directory}/".encode() in (place / "cmdline").read_bytes():
                os.kill(int(place.name), signal.SIGKILL)


def added_node(cluster: Any, num_cpus: int) -> Any:
    """One more node of a cluster; its start is repeated when Ray gives it up."""
    for _ in range(START_ATTEMPTS - 1):
        with contextlib.suppress(Exception):
            return cluster.add_node(num_cpus=num_cpus)
    return cluster.add_node(num_cpus=num_cpus)


class RayHead:
    """`environment` is needed to join it at `address`."""

    def __init__(self, directory: Path, environment: Mapping[str, str]) -> None:
        token = directory / "token"
        token.touch(mode=0o600)
        token.write_text(secrets.token_hex(32))
        access = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token)}
        self.environment = {**access, "RAY_worker_niceness": "0", **environment}
        command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--port=0"]
        command += [f"--num-cpus={NUM_CPUS}", "--include-dashboard=false", "--disable-usage-stats"]
        for attempt in range(START_ATTEMPTS):
            starting = subprocess.Popen(
                [*command, f"--temp-dir={directory}"],
                env={**os.environ, **self.environment},
                stdout=subprocess.DEVNULL,
                start_new_session=True,
            )
            self._session = starting.pid
            if starting.wait() == 0:
                break
            kill_processes_of(str(directory))
            assert attempt + 1 < START_ATTEMPTS, "Ray does not start"
        self.address = (directory / "ray_current_cluster").read_text()
        self._server_place = Path(f"/proc/{self.pid('gcs_server')}")
        self._again: subprocess.Popen[bytes] | None = None

    def pids(self, title: str) -> list[int]:
        """Processes on this node that run an actor of that kind, or a program of that name."""
        return [pid for pid, command in in_sessions(self._session).items() if is_called(command, title)]

    def pid(self, title: str) -> int:
        [pid] = self.pids(title)
        return pid

    def kill_server(self) -> None:
        """Send SIGKILL to the server; its command line is read before, to start it again."""
        words = (self._server_place / "cmdline").read_text().rstrip("\0").split("\0")
        port = self.address.rpartition(":")[2]
        self._command = [re.sub("^--gcs_server_port=0$", f"--gcs_server_port={port}", word) for word in words]
        assignments = (self._server_place / "environ").read_text().rstrip("\0").split("\0")
        self._environment = dict(word.split("=", 1) for word in assignments)
        os.kill(self.pid("gcs_server"), signal.SIGKILL)

    def start_server_again(self) -> None:
        self._again = subprocess.Popen(
            self._command, env=self._environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def stop(self) -> None:
        """Kill all of its processes."""
        for pid in in_sessions(self._session):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if self._again is not None:
            self._again.kill()
            self._again.wait()


@contextmanager
def ray_head(environment: Mapping[str, str] | None = None) -> Iterator[RayHead]:
    """Started, and killed at the end."""
    with tempfile.TemporaryDirectory(prefix="cactus-", ignore_cleanup_errors=True) as directory:
        head = RayHead(Path(directory), environment or {})
        try:
            yield head
        finally:
            head.stop()

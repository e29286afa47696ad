"""`cactus serve` as a process that can be stopped and started again on the same endpoints."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import httpx

from cactus_actors.client import Client
from tests.support.http.trust_nobody import TRUST_NOBODY
from tests.support.processes.separate_actors import free_endpoints
from tests.support.processes.serve_command import in_sessions, is_called, sessions_of
from tests.support.router.scripted_router import until

CACTUS = [sys.executable, "-m", "cactus_actors.cli.main"]


class RestartableService:
    """A service in its own session; `start` works again after its end.

    `prefix` is put before its command, such as `env ...`.
    """

    def __init__(self, state_dir: Path, *options: str, prefix: Sequence[str] = ()) -> None:
        self.jobs, self.stream, http = free_endpoints(3)
        self.url = http.replace("tcp", "http")
        self.process: subprocess.Popen[str]
        self._command = [*prefix, *CACTUS, "serve", "--state-dir", str(state_dir), *options]
        self._command += ["--jobs-endpoint", self.jobs, "--stream-endpoint", self.stream]
        self._command += ["--http", http.removeprefix("tcp://")]
        self._said = state_dir / "said"

    def start(self) -> None:
        """Return once it is ready."""
        self._begin()
        assert self.process.stdout is not None
        assert "ready" in self.process.stdout.readline(), self._said.read_text()

    def interrupt_start(self, number: signal.Signals) -> None:
        """Start the service and end it by a signal as soon as a worker's process exists."""
        self._begin()
        until(lambda: any("WorkerActor" in command for command in self.pids().values()), 60)
        self.process.send_signal(number)
        assert self.ended()[0] != 0

    def _begin(self) -> None:
        with self._said.open("a") as said:
            self.process = subprocess.Popen(
                self._command, stdout=subprocess.PIPE, stderr=said, text=True, start_new_session=True
            )

    def ended(self) -> tuple[int, str]:
        """Wait for the end; returns the exit status, and the output after its ready line."""
        assert self.process.stdout is not None
        with self.process.stdout as stdout:
            printed = stdout.read()
        return self.process.wait(timeout=60), printed

    def http(self) -> httpx.Client:
        return httpx.Client(base_url=self.url, timeout=60, verify=TRUST_NOBODY)

    def client(self) -> Client:
        return Client(self.jobs, self.stream, timeout=60)

    def pids(self) -> dict[int, str]:
        """Every process of the service that has not ended, and its command line."""
        return in_sessions(self.process.pid, *sessions_of(self.process.pid))

    def pid_of(self, actor: str) -> int:
        """The process of an actor of that kind."""
        (pid,) = (pid for pid, command in self.pids().items() if is_called(command, actor))
        return pid

    def stop(self) -> None:
        """End all remaining processes."""
        self.process.kill()
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()
        for pid in self.pids():
            os.kill(pid, signal.SIGKILL)

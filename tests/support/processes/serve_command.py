"""`cactus serve` as a process, and its child processes."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cactus_actors.placement.ray.ray_directory import OPEN

ANYWHERE = "tcp://127.0.0.1:*"
CACTUS = ("-m", "cactus_actors.cli.main")
WITH_CLOUD = {"CACTUS_CLOUD_KEY": "nobody-takes-it", "CACTUS_DISABLE_CLOUD_HANDOFF": "1"}
"""Options for a service that has every kind of process, and calls no cloud."""


@dataclass
class Serving:
    """A running service; `log` is its standard error."""

    process: subprocess.Popen[str]
    jobs: str
    stream: str
    http: str | None
    log: Path

    def pids(self, title: str) -> list[int]:
        """Processes below the service that run an actor of that kind, or a program of that name."""
        return [pid for pid, command in below(self.process.pid).items() if is_called(command, title)]

    def pid(self, title: str) -> int:
        [pid] = self.pids(title)
        return pid

    def said(self, words: str) -> bool:
        return words in self.log.read_text()

    def ends(self, seconds: float) -> int:
        """Wait until it ends by itself; returns its exit code."""
        return self.process.wait(timeout=seconds)


@contextmanager
def serving(
    directory: Path,
    *options: str,
    environment: Mapping[str, str | None] = WITH_CLOUD,
    program: Sequence[str] = CACTUS,
) -> Iterator[Serving]:
    """Start a service and, unless it has ended, stop it as its user would; `program` replaces `cactus`.

    A variable of `environment` that is None is removed.
    """
    command = [sys.executable, *program, "serve", "--state-dir", str(directory / "state")]
    command += ["--jobs-endpoint", ANYWHERE, "--stream-endpoint", ANYWHERE, "--http", "127.0.0.1:0", *options]
    log_path = directory / "service.log"
    with log_path.open("w") as log:
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            start_new_session=True,
            env={name: value for name, value in {**os.environ, **environment}.items() if value is not None},
        )
    assert process.stdout is not None
    sessions = {process.pid}
    try:
        ready = next((line for line in process.stdout if line.startswith("ready")), None)
        assert ready is not None, log_path.read_text()
        sessions |= sessions_of(process.pid)
        told = dict(re.findall(r"(jobs|stream|http)=(\S+)", ready))
        yield Serving(process, told["jobs"], told["stream"], told.get("http"), log_path)
    finally:
        process.terminate()
        try:
            process.wait(timeout=60.0)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
        for pid in in_sessions(*sessions):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def ray_directories(service: Serving) -> list[Path]:
    """The private directories of a service's Ray cluster, from the command lines of its processes."""
    words = "\0".join(below(service.process.pid).values())
    return sorted({Path(found) for found in re.findall(rf"--temp_dir=([^\0]+)/{OPEN}\0", words)})


def is_called(command: str, title: str) -> bool:
    """True if a command line is that of an actor of the kind `title`, on any placement, or of a program."""
    program, *arguments = command.split("\0")
    return title in arguments or Path(program).name == title or program.startswith(f"ray::{title}")


def below(root: int) -> dict[int, str]:
    """The command lines of all processes that descend from `root`, by number."""
    parents: dict[int, int] = {}
    commands: dict[int, str] = {}
    for directory in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            state, parent = (directory / "stat").read_text().rpartition(")")[2].split()[:2]
            if state != "Z":
                parents[int(directory.name)] = int(parent)
                commands[int(directory.name)] = (directory / "cmdline").read_text()
    found: dict[int, str] = {}
    pending = [root]
    while pending:
        above = pending.pop()
        for pid in (pid for pid, of in parents.items() if of == above):
            found[pid] = commands[pid]
            pending.append(pid)
    return found


def in_sessions(*sessions: int) -> dict[int, str]:
    """The command lines of processes of these sessions that have not ended, by number."""
    members: dict[int, str] = {}
    for pid, session in _sessions().items():
        if session in sessions:
            with contextlib.suppress(OSError):
                members[pid] = (Path("/proc") / str(pid) / "cmdline").read_text()
    return members


def sessions_of(root: int) -> set[int]:
    """The sessions of a process and of all its descendants: a private Ray cluster has its own."""
    sessions = _sessions()
    return {sessions[pid] for pid in (root, *below(root)) if pid in sessions}


def _sessions() -> dict[int, int]:
    """The session of each process that has not ended; field 6 of proc_pid_stat(5)."""
    sessions: dict[int, int] = {}
    for directory in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            state, _, _, session = (directory / "stat").read_text().rpartition(")")[2].split()[:4]
            if state != "Z":
                sessions[int(directory.name)] = int(session)
    return sessions


def wait_for_nothing(sessions: set[int], seconds: float) -> float:
    """Seconds until no process of the sessions was left; fails with a list of those that are."""
    started_at = time.monotonic()
    while left := in_sessions(*sessions):
        assert time.monotonic() < started_at + seconds, left
        time.sleep(0.1)
    return time.monotonic() - started_at

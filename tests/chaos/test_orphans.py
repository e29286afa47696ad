"""Whatever ends `cactus serve`, nothing of it is left ten seconds later."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

NOTHING_LEFT_S = 10.0
ANYWHERE = "tcp://127.0.0.1:*"


@pytest.fixture
def service(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], list[int]]]:
    """A service with a Ray of its own, in a session of its own, and the ports of its ready line."""
    command = [sys.executable, "-m", "cactus_actors.cli.main", "serve", "--state-dir", str(tmp_path)]
    process = subprocess.Popen(
        [*command, "--jobs-endpoint", ANYWHERE, "--stream-endpoint", ANYWHERE],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    ready = next(line for line in process.stdout if line.startswith("ready"))
    yield process, [int(port) for port in re.findall(r"tcp://127\.0\.0\.1:(\d+)", ready)]
    process.kill()
    process.wait()
    process.stdout.close()
    for pid in members_of_session(process.pid):
        subprocess.run(["kill", "-9", str(pid)], check=False)


def members_of_session(session: int) -> dict[int, str]:
    """Processes of the session that have not ended, by number; field 6 of proc_pid_stat(5)."""
    members: dict[int, str] = {}
    for directory in Path("/proc").iterdir():
        try:
            state, _, _, sid = (directory / "stat").read_text().rpartition(")")[2].split()[:4]
            if directory.name.isdigit() and int(sid) == session and state != "Z":
                members[int(directory.name)] = (directory / "cmdline").read_text()[:80]
        except OSError:
            continue
    return members


def is_open(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1.0).close()
    except OSError:
        return False
    return True


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at /proc")
@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGTERM])
def test_no_process_and_no_port_is_left(
    service: tuple[subprocess.Popen[str], list[int]], ending: signal.Signals
) -> None:
    process, ports = service
    assert len(members_of_session(process.pid)) >= 5  # a router, a worker, and Ray
    assert all(map(is_open, ports))
    process.send_signal(ending)
    process.wait(timeout=30.0)
    ended_at = time.monotonic()
    while left := members_of_session(process.pid):
        assert time.monotonic() < ended_at + NOTHING_LEFT_S, left
        time.sleep(0.2)
    assert not any(map(is_open, ports))

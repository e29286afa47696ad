"""A session of processes ends with its reaper, also if that is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cactus_actors.placement.ray.reaper import Reaper, end_session, start_of

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at /proc")

WITHIN_S = 60.0
LEADER = """
import subprocess, sys, time
here = subprocess.Popen(["sleep", "1000"])
elsewhere = subprocess.Popen(["sleep", "1000"], start_new_session=True)
print(here.pid, elsewhere.pid, flush=True)
time.sleep(1000)
"""
PARENT = """
import subprocess, sys, time
from pathlib import Path
from cactus_actors.placement.ray.reaper import Reaper
leader = subprocess.Popen([sys.executable, "-c", sys.argv[1]], stdout=subprocess.PIPE, start_new_session=True)
line = leader.stdout.readline().decode()
reaper = Reaper(leader.pid, Path(sys.argv[2]))
print(leader.pid, line, flush=True)
time.sleep(1000)
"""


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_for_the_end_of(pids: list[int]) -> None:
    give_up_at = time.monotonic() + WITHIN_S
    while left := [pid for pid in pids if is_alive(pid)]:
        assert time.monotonic() < give_up_at, left
        time.sleep(0.02)


def started() -> tuple[subprocess.Popen[str], list[int]]:
    """A leader of a session, and two processes that it has started."""
    leader = subprocess.Popen([sys.executable, "-c", LEADER], stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert leader.stdout is not None
    with leader.stdout as stdout:
        return leader, [int(word) for word in stdout.readline().split()]


def test_a_reaped_session_leaves_no_process_and_no_directory(tmp_path: Path) -> None:
    leader, children = started()
    (tmp_path / "ray" / "logs").mkdir(parents=True)
    reaper = Reaper(leader.pid, tmp_path / "ray")
    reaper.reap()
    assert leader.wait(WITHIN_S) == -signal.SIGKILL
    wait_for_the_end_of(children)
    assert not (tmp_path / "ray").exists()
    reaper.reap()


def test_a_session_of_a_killed_parent_leaves_no_process_and_no_directory(tmp_path: Path) -> None:
    (tmp_path / "ray" / "logs").mkdir(parents=True)
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, LEADER, str(tmp_path / "ray")], stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    with parent.stdout as stdout:
        pids = [int(word) for word in stdout.readline().split()]
    parent.kill()
    parent.wait()
    wait_for_the_end_of(pids)
    give_up_at = time.monotonic() + WITHIN_S
    while (tmp_path / "ray").exists():
        assert time.monotonic() < give_up_at
        time.sleep(0.02)


def test_processes_that_outlive_their_session_leader_are_found(tmp_path: Path) -> None:
    leader, (here, elsewhere) = started()
    start = start_of(leader.pid)
    leader.kill()
    leader.wait()
    assert is_alive(here)
    end_session(leader.pid, start)
    wait_for_the_end_of([here])
    os.kill(elsewhere, signal.SIGKILL)  # nothing shows any more to whom it belonged


def test_a_reused_process_id_is_not_killed() -> None:
    other = subprocess.Popen(["sleep", "1000"], start_new_session=True)
    try:
        end_session(other.pid, "1")
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()

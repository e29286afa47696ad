"""A process that outlives its parent and ends the processes that the parent's Ray leaves.

Ray's processes end with the driver, but two agents first try for a minute to reach the ended server
(`publish_error_to_driver` in ray/_private/utils.py). This file runs as a script with few imports. Its standard input
closes when the parent ends, however that happens.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Collection
from pathlib import Path

PROCESSES = Path("/proc")
KILL_WITHIN_S = 5.0
POLL_INTERVAL_S = 0.01
# fields of /proc/PID/stat from the state on: proc_pid_stat(5)
_STATE, _PARENT, _SESSION, _START = 0, 1, 3, 19


class Reaper:
    """Ends a process session and removes a directory: at `reap`, or when this process ends.

    `leader` is the session leader. Without /proc only the leader is ended.
    """

    def __init__(self, leader: int, directory: Path) -> None:
        self._leader = leader
        self._directory = directory
        self._start = start_of(leader)
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__, str(leader), self._start, str(directory)],
            stdin=subprocess.PIPE,
            start_new_session=True,  # signals of the terminal are not meant for it
        )

    def processes(self) -> set[int]:
        """The running processes of the session and their descendants."""
        return _members(self._leader, self._start)

    def reap(self) -> None:
        """End the session and remove the directory; a second call does nothing."""
        end_session(self._leader, self._start)
        shutil.rmtree(self._directory, ignore_errors=True)
        self._process.communicate()


def start_of(pid: int) -> str:
    """The start time of a process, which detects reuse of its id; "" once it has ended."""
    fields = _stat(PROCESSES / str(pid))
    return fields[_START] if fields else ""


def exited_child(parent: int, names: Collection[str]) -> str:
    """The name of an ended child of `parent` among `names`; "" if there is none."""
    for process in PROCESSES.glob("[0-9]*"):
        fields = _stat(process)
        if fields and fields[_STATE] == "Z" and int(fields[_PARENT]) == parent:
            with contextlib.suppress(OSError):
                name = (process / "comm").read_text().rstrip()
                if name in names:
                    return name
    return ""


def end_session(leader: int, start: str) -> None:
    """Kill the session of `leader`, which started at `start`, and all descendants of its processes."""
    if not PROCESSES.is_dir():
        with contextlib.suppress(ProcessLookupError):
            os.kill(leader, signal.SIGKILL)
    give_up_at = time.monotonic() + KILL_WITHIN_S
    while members := _members(leader, start):  # again: a killed process may have just started another
        for pid in members:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if time.monotonic() > give_up_at:
            return
        time.sleep(POLL_INTERVAL_S)


def kill_tree(root: int) -> None:
    """Kill a process, then all its descendants."""
    for pid in (root, *_with_descendants({root}, _living())):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _members(leader: int, start: str) -> set[int]:
    """The running processes of the session and their descendants."""
    if start_of(leader) not in ("", start):
        return set()  # the id was reused: the session has ended
    living = _living()
    return _with_descendants({pid for pid, fields in living.items() if int(fields[_SESSION]) == leader}, living)


def _living() -> dict[int, list[str]]:
    """The processes that run, with the fields of their `stat`."""
    stats = {int(path.name): _stat(path) for path in PROCESSES.glob("[0-9]*")}
    return {pid: fields for pid, fields in stats.items() if fields and fields[_STATE] not in "ZX"}


def _with_descendants(pids: set[int], living: dict[int, list[str]]) -> set[int]:
    members = set(pids)
    pending = list(pids)
    while pending:
        parent = pending.pop()
        children = {pid for pid, fields in living.items() if int(fields[_PARENT]) == parent} - members
        members |= children
        pending += children
    return members


def _stat(process: Path) -> list[str]:
    """The fields of /proc/PID/stat, proc_pid_stat(5), from the state on; none once it has ended."""
    try:
        return (process / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def main() -> None:
    sys.stdin.buffer.read()
    leader, start, directory = sys.argv[1:]
    end_session(int(leader), start)
    shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()

"""A process that outlives its parent only to end what the parent's Ray leaves behind.

Ray's own processes end with the driver, but two agents first try for a minute to tell a server that is gone
(`publish_error_to_driver` in ray/_private/utils.py). This file runs as a script with nothing imported that it
does not need, and its standard input closes when the parent ends, however it does.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

GRACE_S = 2.0
PROCESSES = Path("/proc")

_reapers: list[subprocess.Popen[bytes]] = []  # their pipes are never closed, only by the end of this process


def outlive(root: int, sockets: Path) -> None:
    """Have all processes that descend from `root` now end soon after this process, however it ends.

    Their sockets, files in the directory `sockets`, go with them. Where there is no /proc nothing happens.
    """
    if not PROCESSES.is_dir():
        return
    reaper = subprocess.Popen(
        [sys.executable, "-I", "-S", __file__, str(sockets), *descendants(root)],
        stdin=subprocess.PIPE,
        start_new_session=True,  # what is typed at the parent's terminal is not meant for it
    )
    _reapers.append(reaper)


@contextlib.contextmanager
def ends_children_on_failure() -> Iterator[None]:
    """End the processes that were started inside, should it end by an exception or a signal that is one."""
    before = set(descendants(os.getpid()))
    try:
        yield
    except BaseException:
        reap([child for child in descendants(os.getpid()) if child not in before])
        raise


def descendants(root: int) -> list[str]:
    """`pid:start` of every process below `root`; the start tells a process from a later one of its number.

    None where there is no /proc.
    """
    if not PROCESSES.is_dir():
        return []
    children: dict[int, list[tuple[int, str]]] = {}
    for directory in PROCESSES.iterdir():
        if directory.name.isdigit() and (fields := _stat(int(directory.name))):
            children.setdefault(int(fields[1]), []).append((int(directory.name), fields[19]))
    found: list[str] = []
    pending = [root]
    while pending:
        for pid, start in children.get(pending.pop(), []):
            found.append(f"{pid}:{start}")
            pending.append(pid)
    return found


def reap(processes: list[str]) -> None:
    """Kill those of the processes that are still the same."""
    for process in processes:
        pid, _, start = process.partition(":")
        fields = _stat(int(pid))
        if fields and fields[19] == start:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)


def remove_sockets(directory: Path) -> None:
    """Remove what processes that were killed could not."""
    with contextlib.suppress(OSError):
        for path in directory.iterdir():
            if path.is_socket():
                path.unlink()


def _stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat from the state on (proc_pid_stat(5)), or none if it has ended."""
    try:
        return (PROCESSES / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def main() -> None:
    sys.stdin.buffer.read()
    time.sleep(GRACE_S)
    sockets, *processes = sys.argv[1:]
    reap(processes)
    remove_sockets(Path(sockets))


if __name__ == "__main__":
    main()

"""Memory and processor time of a process, measured from outside."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

MIB = 1024 * 1024


def resident_bytes(pid: int) -> int:
    """Resident memory of the process."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def peak_mb(pid: int) -> float:
    """The largest resident memory that the process has had, in units of 2^20 bytes."""
    [line] = [line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmHWM:")]
    return int(line.split()[1]) / 1024


def descendants(pid: int) -> list[int]:
    """The children of a process, and theirs."""
    parents: dict[int, int] = {}
    for directory in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parents[int(directory.name)] = int((directory / "stat").read_text().rpartition(")")[2].split()[1])
    found = [pid]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found[1:]


def cpu_seconds(pid: int) -> float:
    """Processor time of all its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def edge_of(router_pid: int) -> int:
    """The edge process of a router, which has the sockets of clients."""
    for directory in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parent = int((directory / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == router_pid and b"cactus_actors.router.edge.edge_child" in (directory / "cmdline").read_bytes():
                return int(directory.name)
    raise AssertionError("there is none")


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


class MemoryGrowth:
    """The growth of a process's resident memory since the beginning of the measurement, and its maximum."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._before = resident_bytes(pid)
        self.most = 0

    def look(self) -> int:
        """The present growth in bytes."""
        grown = resident_bytes(self._pid) - self._before
        self.most = max(self.most, grown)
        return grown

    def look_for(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.look()
            time.sleep(0.002)

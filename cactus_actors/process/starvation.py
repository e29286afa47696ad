"""Measures how long processes waited for a CPU: a starved process is slow, not dead.

Linux reports for each thread how long it was runnable without running (`schedstat`), and for the machine the time
in which at least one thread waited (pressure stall information, `/proc/pressure/cpu`). Other systems report nothing,
and every second counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

PROCESSES = Path("/proc")
PRESSURE_FILES = (Path("/proc/pressure/cpu"), Path("/sys/fs/cgroup/cpu.pressure"))
STALLED_WEIGHT = 0.2
"""The weight of a second in which some thread always waited, if no more is known."""
_NANOSECONDS = 1e9
_MICROSECONDS = 1e6

ThreadTimes = tuple[int, int, bool]
"""Nanoseconds running and waiting for a CPU; True if the thread waits now, for a CPU or a disk."""


class MachinePressure:
    """The time during which some thread waited for a CPU, on this machine or in this container."""

    def __init__(self, files: Sequence[Path] | None = None) -> None:
        """`files` replace the pressure files of the system."""
        self._files = PRESSURE_FILES if files is None else files
        self._stalled_s = self._read()

    def stalled_s(self) -> float:
        """Seconds since the last call during which some thread waited; 0 where the system does not report it."""
        before, self._stalled_s = self._stalled_s, self._read()
        return max((now - then for then, now in zip(before, self._stalled_s, strict=True)), default=0.0)

    def _read(self) -> list[float]:
        return [_total_s(path) for path in self._files]


class FairSeconds:
    """Counts the seconds in which a process could have run; time is an argument.

    Time in which its threads waited for a CPU does not count, nor more than `max_step_s` between two calls: a late
    caller was starved itself. With `pid` None the process is not visible from here; then seconds count less while
    the machine is under pressure.
    """

    def __init__(self, pid: int | None, now: float, max_step_s: float) -> None:
        self._pid = pid
        self._updated_at = now
        self._max_step_s = max_step_s
        self._threads = _thread_times(pid)
        self._pressure = MachinePressure()
        self.seconds = 0.0

    def elapsed(self, now: float) -> float:
        """The counted seconds since the start."""
        passed, self._updated_at = now - self._updated_at, now
        before, self._threads = self._threads, _thread_times(self._pid)
        stalled_s = self._pressure.stalled_s()
        if before and self._threads:
            excused_s = max(_waited_s(before.get(name), times, passed) for name, times in self._threads.items())
        else:
            excused_s = (1 - STALLED_WEIGHT) * min(stalled_s, passed)
        self.seconds += min(max(0.0, passed - excused_s), self._max_step_s)
        return self.seconds


def _waited_s(before: ThreadTimes | None, after: ThreadTimes, elapsed: float) -> float:
    """The part of the `elapsed` seconds in which a thread was runnable and did not run."""
    ran_before, waited_before, _ = before or (0, 0, False)
    ran, waited, is_waiting = after
    if is_waiting and ran == ran_before:  # the kernel adds the current wait when it ends
        return elapsed
    return (waited - waited_before) / _NANOSECONDS


def _thread_times(pid: int | None) -> dict[str, ThreadTimes]:
    """The times of each thread of a process, by thread id; empty where they cannot be read."""
    if pid is None:
        return {}
    found = {}
    try:
        for task in (PROCESSES / str(pid) / "task").iterdir():
            ran, waited, _ = (task / "schedstat").read_text().split()
            state = (task / "stat").read_text().rpartition(")")[2].split()[0]
            found[task.name] = int(ran), int(waited), state in "RD"
    except (OSError, ValueError):  # the process has ended, or the kernel does not report it
        return {}
    return found


def _total_s(path: Path) -> float:
    """`some ... total=` of a pressure file (the kernel's accounting/psi.rst), in seconds."""
    try:
        line = path.read_text().partition("\n")[0]
    except OSError:
        return 0.0
    total = line.rpartition("total=")[2]
    return int(total) / _MICROSECONDS if total.isdecimal() else 0.0

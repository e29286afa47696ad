"""Measurements that are repeated if other programs took processor time.

A barrier between threads waits for the slowest: one other busy process on two cores can slow down an
engine by more than the share that it takes, and one engine more than another. So the share of others is
measured with every measurement, and one that was disturbed is done again.
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")
GLANCE_S = 0.5

T = TypeVar("T")


class Quiet:
    """Repeats disturbed measurements, for at most `patience_s` seconds in total; then it accepts the least disturbed
    one.
    """

    def __init__(self, patience_s: float, max_share: float = 0.03) -> None:
        self._patience_s = patience_s
        self._max_share = max_share

    def measure(self, measurement: Callable[[], T], *, root: int | None = None) -> tuple[T, float]:
        """The least disturbed result of all tries, and the share of all cores that other processes took.

        Other processes are those outside the tree of the process `root`; without it, of this process.
        """
        results = []
        while True:
            self._wait()
            watch = Others(root)
            result = measurement()
            results.append((result, watch.share()))
            least_disturbed = min(results, key=lambda pair: pair[1])
            if least_disturbed[1] <= self._max_share or self._patience_s <= 0:
                return least_disturbed
            self._patience_s -= watch.seconds

    def _wait(self) -> None:
        """Return as soon as the machine is idle."""
        while self._patience_s > 0:
            watch = Others(None)
            time.sleep(GLANCE_S)
            if watch.share() <= self._max_share:
                return
            self._patience_s -= GLANCE_S


class Others:
    """Processor time of all processes outside one process tree, from now on."""

    def __init__(self, root: int | None) -> None:
        self._root = root or os.getpid()
        self._started = time.perf_counter()
        self._before = busy_seconds(), tree_seconds(self._root)

    @property
    def seconds(self) -> float:
        """Time since the start."""
        return time.perf_counter() - self._started

    def share(self) -> float:
        """Their share of all cores since the start, 0 to 1; time that the hypervisor took counts as theirs."""
        busy, own = busy_seconds() - self._before[0], tree_seconds(self._root) - self._before[1]
        return max(0.0, busy - own) / (self.seconds * (os.cpu_count() or 1))


def busy_seconds() -> float:
    """Time that the processors were not idle, summed over them, since the machine started."""
    user, nice, system, _, _, *rest = map(int, Path("/proc/stat").read_text().split("\n")[0].split()[1:9])
    return (user + nice + system + sum(rest)) / TICKS_A_SECOND


def tree_seconds(root: int) -> float:
    """Processor time of a process and of all its descendants, those that have ended included."""
    ticks: dict[int, int] = {}
    children: defaultdict[int, list[int]] = defaultdict(list)
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended in the meantime
        pid = int(folder.name)
        ticks[pid] = sum(map(int, fields[11:15]))
        children[int(fields[1])].append(pid)
    total, left = 0, [root]
    while left:
        pid = left.pop()
        total += ticks.get(pid, 0)
        left += children[pid]
    return total / TICKS_A_SECOND

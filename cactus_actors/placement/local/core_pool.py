"""Cores of this machine that belong to the workers of one service."""

from __future__ import annotations

import contextlib
import socket
from collections import Counter
from collections.abc import Iterable, Sequence

from cactus_actors.process.cpu_cores import Core

LOCK_NAME = "\0cactus-actors core {}"
"""The name of an abstract Unix socket, which one process of the machine can bind, and loses when it ends."""
MIN_OTHER_CORES = 2
"""The cores that router, gateway and everything else have at least."""


class CorePool:
    """Gives each worker cores of its own, all of one NUMA node if possible; everything else runs on `other_cpus`.

    A pool has `size` of the `cores`, of which other services of the machine have none: those are theirs until `close`.
    It has none, and nothing is pinned, unless MIN_OTHER_CORES are left.
    """

    def __init__(self, cores: Sequence[Core], size: int) -> None:
        self._all = cores
        self._locks: dict[Core, socket.socket] = {}
        for core in cores if size <= len(cores) - MIN_OTHER_CORES else ():
            if len(self._locks) < size and (lock := _lock(core)):
                self._locks[core] = lock
        if len(self._locks) < size:
            self.close()
        self._free = list(self._locks)

    @property
    def other_cpus(self) -> list[int]:
        """The CPUs of everything else; empty if nothing is pinned."""
        return cpus_of(core for core in self._all if core not in self._locks) if self._locks else []

    def take(self, count: int) -> list[Core]:
        """Cores that nobody else gets until they are given back; none if fewer than `count` are free."""
        if len(self._free) < count:
            return []
        num_free = Counter(core.node for core in self._free)
        wide = [node for node in num_free if num_free[node] >= count]
        node = min(wide, key=lambda node: (num_free[node], node), default=None)
        taken = [core for core in self._free if node is None or core.node == node][:count]
        self._free = [core for core in self._free if core not in taken]
        return taken

    def cpus_near(self, cores: Iterable[Core]) -> list[int]:
        """The CPUs of the NUMA nodes of `cores`; empty on a machine with one node."""
        nodes = {core.node for core in cores}
        is_uniform = len({core.node for core in self._all}) == 1
        return [] if is_uniform else cpus_of(core for core in self._all if core.node in nodes)

    def give_back(self, cores: Iterable[Core]) -> None:
        free = {*self._free, *cores}
        self._free = [core for core in self._locks if core in free]

    def close(self) -> None:
        """Leave the cores to other services."""
        for lock in self._locks.values():
            lock.close()
        self._locks = {}


def cpus_of(cores: Iterable[Core]) -> list[int]:
    """The CPUs of cores."""
    return sorted(cpu for core in cores for cpu in core.cpus)


def _lock(core: Core) -> socket.socket | None:
    """The lock of a core; None if another process of the machine has it."""
    with contextlib.ExitStack() as stack:
        lock = stack.enter_context(socket.socket(socket.AF_UNIX))
        try:
            lock.bind(LOCK_NAME.format(max(core.cpus)))
        except OSError:
            return None
        stack.pop_all()
        return lock

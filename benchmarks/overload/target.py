"""The measured service, and the formatting of times."""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from cactus_actors.client import AsyncClient

MIB = 1024 * 1024
PROMPT = "Tell me a story about a fox and a crow who share one piece of cheese."


@dataclass(frozen=True)
class Target:
    """A running service."""

    jobs: str
    stream: str
    router_pid: int

    def resident_mib(self) -> float:
        """Resident memory of the router and of its edge process."""
        pids = [self.router_pid, *_children(self.router_pid, b"cactus_actors.router.edge.edge_child")]
        pages = sum(int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in pids)
        return pages * os.sysconf("SC_PAGE_SIZE") / MIB

    @contextlib.asynccontextmanager
    async def client(self) -> AsyncIterator[AsyncClient]:
        async with AsyncClient(self.jobs, self.stream, timeout=120.0) as client:
            yield client


def percentile(values: list[float], share: float) -> float:
    """The value below which this share of the values lies; NaN without values."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else float("nan")


def milliseconds(values: list[float], share: float) -> float:
    return round(1000 * percentile(values, share), 2)


def newest_router() -> int:
    """The process of the router actor that was started last, on either placement."""
    routers = [
        int(path.parent.name) for path in Path("/proc").glob("[0-9]*/cmdline") if b"RouterActor" in path.read_bytes()
    ]
    return max(routers, key=_started_at)


def _children(parent: int, title: bytes) -> list[int]:
    """The children of a process that have this text in their command line."""
    found = []
    for directory in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            fields = (directory / "stat").read_text().rpartition(")")[2].split()
            if int(fields[1]) == parent and title in (directory / "cmdline").read_bytes():
                found.append(int(directory.name))
    return found


def _started_at(pid: int) -> int:
    """Clock ticks after the boot: field 22 of proc_pid_stat(5)."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])

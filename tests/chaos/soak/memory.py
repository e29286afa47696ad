"""Memory of the actors and of their child processes, over time."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.chaos.soak.growth import MOST_MIB
from tests.chaos.soak.history import History
from tests.chaos.soak.nemesis import processes_of

INTERVAL_S = 5.0


async def watch_memory(root: int, history: History) -> None:
    """Record the resident memory of every process that has a limit, in MiB, until cancelled."""
    while True:
        for actor in MOST_MIB:
            for pid in processes_of(root, actor):
                if (size := resident_mib(pid)) is not None:
                    history.note("memory", actor=actor, pid=pid, mib=size)
        await asyncio.sleep(INTERVAL_S)


def resident_mib(pid: int) -> float | None:
    """VmRSS of proc_pid_status(5); None for a process that has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return None
    sizes = [int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS:")]
    return round(sizes[0], 1) if sizes else None

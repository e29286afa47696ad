"""How much memory the actors have, over time."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from tests.chaos.soak.history import Event, History
from tests.chaos.soak.nemesis import processes_of

ACTORS = ("ray::RouterActor", "ray::GatewayActor", "ray::HandoffActor", "ray::WorkerActor")
INTERVAL_S = 5.0


async def watch_memory(root: int, history: History) -> None:
    """Note the resident memory of every actor, in MiB, until cancelled."""
    while True:
        for actor in ACTORS:
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


def told(events: Iterable[Event]) -> list[str]:
    """A line for each kind of actor: the most it had, and how its longest life went."""
    lives: dict[str, dict[int, list[Event]]] = defaultdict(lambda: defaultdict(list))
    for event in events:
        if event["kind"] == "memory":
            lives[event["actor"]][event["pid"]].append(event)
    lines = []
    for actor, processes in lives.items():
        longest = max(processes.values(), key=lambda life: life[-1]["at"] - life[0]["at"])
        first, last = longest[min(2, len(longest) - 1)], longest[-1]
        most = max(event["mib"] for life in processes.values() for event in life)
        lines.append(
            f"{actor}: {len(processes)} lives, at most {most:.0f} MiB; the longest went from "
            f"{first['mib']:.0f} to {last['mib']:.0f} MiB in {last['at'] - first['at']:.0f} s"
        )
    return lines

"""Checks and reports the memory of processes. Pure functions over `memory` events (actor, pid, mib).

The memory of a process is measured after WARM_UP_S of its life, when its code and its weights have been
read and its pools filled. Medians over thirds of that life separate growth from short peaks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from statistics import median

from tests.chaos.soak.history import Event

WARM_UP_S = 30.0
MIN_JUDGED_S = 60.0
GROWTH_MIB = 32.0
"""Allowed growth from the first to the last third of a life: allocators keep the memory of one flood."""

ROUTER = "RouterActor"
RETENTION_S = 600.0
KIB_A_JOB = 1.5
"""The router's memory per ended job that it still knows; 1.2 KiB were measured."""

MOST_MIB = {
    ROUTER: 512.0,
    "GatewayActor": 384.0,
    "HandoffActor": 256.0,
    "WorkerActor": 768.0,
    "cactus_actors.router.preparation.preparer_child": 512.0,
    "cactus_actors.router.edge.edge_child": 256.0,
}
"""The most memory that a process may use at any time: a limit for lives that are too short to show growth."""

Life = list[Event]


def growths(events: Iterable[Event], num_jobs: int) -> Iterator[str]:
    """Processes with more memory than they may have while there were `num_jobs` jobs, in words."""
    for actor, lives in _lives(events).items():
        for pid, life in lives.items():
            most = max(event["mib"] for event in life)
            if most > MOST_MIB[actor]:
                yield f"{actor} {pid} took {most:.0f} MiB, more than {MOST_MIB[actor]:.0f}"
            if (grown := _grown(life)) is not None and grown > _may_grow(actor, life, num_jobs):
                yield f"{actor} {pid} grew by {grown:.0f} MiB in {_seconds(life):.0f} s"


def told(events: Iterable[Event]) -> list[str]:
    """One line per kind of actor: its maximum, the course of its longest life, and the life that grew most."""
    lines = []
    for actor, processes in _lives(events).items():
        longest = max(processes.values(), key=_seconds)
        first, last = longest[min(2, len(longest) - 1)], longest[-1]
        most = max(event["mib"] for life in processes.values() for event in life)
        grown = [mib for life in processes.values() if (mib := _grown(life)) is not None]
        lines.append(
            f"{actor}: {len(processes)} lives, at most {most:.0f} MiB; the longest went from "
            f"{first['mib']:.0f} to {last['mib']:.0f} MiB in {_seconds(longest):.0f} s; "
            + (f"of {len(grown)} judged none grew by more than {max(grown):.0f}" if grown else "none judged")
        )
    return lines


def _lives(events: Iterable[Event]) -> dict[str, dict[int, Life]]:
    """The measurements by actor and process."""
    lives: dict[str, dict[int, Life]] = defaultdict(lambda: defaultdict(list))
    for event in events:
        if event["kind"] == "memory":
            lives[event["actor"]][event["pid"]].append(event)
    return lives


def _seconds(life: Life) -> float:
    return float(life[-1]["at"] - life[0]["at"])


def _may_grow(actor: str, life: Life, num_jobs: int) -> float:
    """The allowed growth in MiB; the router knows the jobs of one retention time, which come at an even rate."""
    if actor != ROUTER:
        return GROWTH_MIB
    num_known: float = num_jobs * min(1.0, RETENTION_S / life[-1]["at"])
    return GROWTH_MIB + num_known * KIB_A_JOB / 1024


def _grown(life: Life) -> float | None:
    """MiB between the first and the last third after the warm-up; None for a life that is too short."""
    begin, end = life[0]["at"] + WARM_UP_S, life[-1]["at"]
    if end - begin < MIN_JUDGED_S:
        return None
    third = (end - begin) / 3
    first = [event["mib"] for event in life if begin <= event["at"] <= begin + third]
    last = [event["mib"] for event in life if event["at"] >= end - third]
    return median(last) - median(first) if first else None

"""Decides which workers exist: the desired number in, starts and drains out. Repeated failures back off."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from cactus_actors.process.backoff import Backoff

UNLIMITED = 1 << 30
REPLACEMENT_TIMEOUT_S = 30.0
"""Seconds for which an old worker waits for a replacement to become ready, for example without a free CPU."""


@dataclass(frozen=True)
class StartWorker:
    """Start a worker under a name that was not used before."""

    worker_id: str


@dataclass(frozen=True)
class DrainWorker:
    """Let a worker finish its jobs and exit."""

    worker_id: str


@dataclass(frozen=True)
class StopWorker:
    """Let a worker give its jobs back and exit."""

    worker_id: str


Action = StartWorker | DrainWorker | StopWorker


@dataclass
class Member:
    """One worker of the fleet."""

    worker_id: str
    started_at: float
    state: Literal["running", "draining"] = "running"
    is_old: bool = False
    is_leaving: bool = False
    is_urgent: bool = False


@dataclass
class Fleet:
    """Compares the desired number of workers with the existing ones; time is an argument, in seconds.

    Workers that fail soon after their start delay the next start, longer each time. Old workers are replaced one
    at a time: the replacement is ready before the old worker drains. Workers that leave their node are replaced all at
    once, and each stops when a worker elsewhere is ready in its place; one that still takes jobs when its node is kept
    after all stays. The names of workers begin with `prefix`.
    """

    desired: int
    prefix: str = "worker"
    members: dict[str, Member] = field(default_factory=dict)
    num_restarts: int = 0
    _leaving: Collection[str] = ()
    _num_started: int = 0
    _backoff: Backoff = field(default_factory=Backoff)

    def replace_all(self) -> None:
        """Mark every running worker as old."""
        for member in self._running():
            member.is_old = True

    def leave(self, leaving: Mapping[str, bool]) -> None:
        """Mark the workers whose node they leave; those with True stop even if nothing replaces them."""
        self._leaving = leaving.keys()
        for worker_id, is_urgent in leaving.items():
            if (member := self.members.get(worker_id)) is not None and member.state == "running":
                member.is_leaving, member.is_urgent = True, is_urgent

    def plan(self, now: float, ready: Sequence[str] = (), max_starts: int = UNLIMITED) -> list[Action]:
        """Return the actions that bring the fleet to its desired size and age; the caller must carry them out.

        `ready` names the workers that take jobs, those first that leave last; others leave before them. At most
        `max_starts` are started, and the replacement of an old one.
        """
        self._keep(ready)
        places = {worker_id: place for place, worker_id in enumerate(ready)}
        running = sorted(  # the last ones are drained first
            self._running(), key=lambda member: (member.is_old, places.get(member.worker_id, len(places)))
        )
        is_replacing = any(member.is_old for member in running)
        num_desired = self.desired + is_replacing
        surplus = running[num_desired:]
        if not surplus and len(running) == num_desired > self.desired and self._may_drain(running, ready, now):
            surplus = running[-1:]
        for member in surplus:
            member.state = "draining"
        actions: list[Action] = [DrainWorker(member.worker_id) for member in surplus]
        if now >= self._backoff.not_before:
            actions += [self._start(now) for _ in range(min(num_desired - len(running), max_starts + is_replacing))]
        return actions + self._stop_leaving(ready)

    def _running(self) -> list[Member]:
        """The members that stay."""
        return [it for it in self.members.values() if it.state == "running" and not it.is_leaving]

    def _keep(self, ready: Collection[str]) -> None:
        """Let the workers stay whose node is kept after all; those that the router gives no more jobs still leave."""
        for member in self.members.values():
            if member.is_leaving and member.worker_id not in self._leaving and member.worker_id in ready:
                member.is_leaving = member.is_urgent = False

    def _stop_leaving(self, ready: Collection[str]) -> list[Action]:
        leaving = [it for it in self.members.values() if it.state == "running" and it.is_leaving]
        leaving.sort(key=lambda it: not it.is_urgent)
        num_ready = sum(member.worker_id in ready for member in self._running())
        num_replaced = num_ready + len(leaving) - self.desired
        stopped = [it for place, it in enumerate(leaving) if it.is_urgent or place < num_replaced]
        for member in stopped:
            member.state = "draining"
        return [StopWorker(member.worker_id) for member in stopped]

    def _may_drain(self, running: list[Member], ready: Collection[str], now: float) -> bool:
        """True if an old worker may be drained."""
        return all(
            member.is_old or member.worker_id in ready or now - member.started_at > REPLACEMENT_TIMEOUT_S
            for member in running
        )

    def on_left(self, worker_id: str) -> None:
        """Record that a worker has drained and exited."""
        self.members.pop(worker_id, None)

    def on_died(self, worker_id: str, now: float) -> float:
        """Record that a worker has failed; returns the seconds until its replacement may start."""
        member = self.members.pop(worker_id, None)
        if member is None or member.state == "draining":
            return 0.0
        self.num_restarts += 1
        return self._backoff.on_failed(now, now - member.started_at)

    def _start(self, now: float) -> StartWorker:
        self._num_started += 1
        worker_id = f"{self.prefix}-{self._num_started}"
        self.members[worker_id] = Member(worker_id, started_at=now)
        return StartWorker(worker_id)

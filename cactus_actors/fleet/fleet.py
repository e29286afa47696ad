"""Which workers should exist: wishes in, starts and drains out; a crash loop backs off."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Literal

from cactus_actors.process.backoff import Backoff

REPLACEMENT_TIMEOUT_S = 30.0
"""How long an old worker is kept for a new one that does not get ready, such as one that has no free CPU."""


@dataclass(frozen=True)
class StartWorker:
    """Start a worker under a name that was never used before."""

    worker_id: str


@dataclass(frozen=True)
class DrainWorker:
    """Let a worker finish what it runs and leave."""

    worker_id: str


Action = StartWorker | DrainWorker


@dataclass
class Member:
    """One worker of the fleet."""

    worker_id: str
    started_at: float
    state: Literal["running", "draining"] = "running"
    is_old: bool = False


@dataclass
class Fleet:
    """The wished number of workers against those that exist; time is an argument, in seconds.

    Workers that die young delay the next start ever longer. Old workers are replaced one at a time: the new
    one is ready before the old one drains.
    """

    desired: int
    members: dict[str, Member] = field(default_factory=dict)
    num_restarts: int = 0
    _num_started: int = 0
    _backoff: Backoff = field(default_factory=Backoff)

    def replace_all(self) -> None:
        """Every worker that runs now is old."""
        for member in self._running():
            member.is_old = True

    def plan(self, now: float, ready: Collection[str] = ()) -> list[Action]:
        """The actions that bring the fleet to its wished size and age; they count as done once returned.

        `ready` names the workers that take jobs.
        """
        running = sorted(self._running(), key=lambda member: member.is_old)  # the old ones go first
        num_desired = self.desired + any(member.is_old for member in running)
        surplus = running[num_desired:]
        if not surplus and len(running) == num_desired > self.desired and self._may_drain(running, ready, now):
            surplus = running[-1:]
        for member in surplus:
            member.state = "draining"
        actions: list[Action] = [DrainWorker(member.worker_id) for member in surplus]
        if now >= self._backoff.not_before:
            actions += [self._start(now) for _ in range(num_desired - len(running))]
        return actions

    def _running(self) -> list[Member]:
        return [member for member in self.members.values() if member.state == "running"]

    def _may_drain(self, running: list[Member], ready: Collection[str], now: float) -> bool:
        """Whether an old worker can be spared."""
        return all(
            member.is_old or member.worker_id in ready or now - member.started_at > REPLACEMENT_TIMEOUT_S
            for member in running
        )

    def on_left(self, worker_id: str) -> None:
        """A worker drained and said goodbye."""
        self.members.pop(worker_id, None)

    def on_died(self, worker_id: str, now: float) -> float:
        """A worker is gone without a goodbye; returns the seconds until its replacement may start."""
        member = self.members.pop(worker_id, None)
        if member is None or member.state == "draining":
            return 0.0
        self.num_restarts += 1
        return self._backoff.on_failed(now, now - member.started_at)

    def _start(self, now: float) -> StartWorker:
        self._num_started += 1
        worker_id = f"worker-{self._num_started}"
        self.members[worker_id] = Member(worker_id, started_at=now)
        return StartWorker(worker_id)

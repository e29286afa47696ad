"""Which workers should exist: wished number in, starts and drains out; a crash loop backs off."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

FIRST_BACKOFF_S = 1.0
MAX_BACKOFF_S = 32.0
STABLE_AFTER_S = 30.0


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


@dataclass
class Fleet:
    """The wished number of workers against those that exist; time is an argument, in seconds.

    A worker that dies young delays the next start, twice as long each time; one that lived STABLE_AFTER_S
    clears the delay.
    """

    desired: int
    members: dict[str, Member] = field(default_factory=dict)
    num_restarts: int = 0
    _num_started: int = 0
    _backoff_s: float = 0.0
    _not_before: float = 0.0

    def plan(self, now: float) -> list[Action]:
        """The actions that bring the fleet to its wished size; they count as done once returned."""
        running = [member for member in self.members.values() if member.state == "running"]
        actions: list[Action] = []
        for member in running[self.desired :]:
            member.state = "draining"
            actions.append(DrainWorker(member.worker_id))
        if now >= self._not_before:
            actions += [self._start(now) for _ in range(self.desired - len(running))]
        return actions

    def on_left(self, worker_id: str) -> None:
        """A worker drained and said goodbye."""
        self.members.pop(worker_id, None)

    def on_died(self, worker_id: str, now: float) -> float:
        """A worker is gone without a goodbye; returns the seconds until its replacement may start."""
        member = self.members.pop(worker_id, None)
        if member is None or member.state == "draining":
            return 0.0
        self.num_restarts += 1
        if now - member.started_at >= STABLE_AFTER_S:
            self._backoff_s = 0.0
        delay, self._backoff_s = (
            self._backoff_s,
            min(MAX_BACKOFF_S, max(FIRST_BACKOFF_S, self._backoff_s * 2)),
        )
        self._not_before = now + delay
        return delay

    def _start(self, now: float) -> StartWorker:
        self._num_started += 1
        worker_id = f"worker-{self._num_started}"
        self.members[worker_id] = Member(worker_id, started_at=now)
        return StartWorker(worker_id)

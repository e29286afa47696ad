"""How long the jobs that ended recently had waited."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from cactus_actors.router.scheduling.scaling_policy import WINDOW_S

MAX_JOBS = 1024
"""The most jobs that are remembered: the newest."""


class Percentiles(NamedTuple):
    """The seconds within which 95 of 100 jobs left the queue, and had their first token; None without jobs."""

    queue_s: float | None
    first_token_s: float | None


class _Times(NamedTuple):
    ended_at: float
    queue_s: float
    first_token_s: float | None


class RecentTimes:
    """Jobs of the last WINDOW_S seconds."""

    def __init__(self) -> None:
        self._jobs: deque[_Times] = deque(maxlen=MAX_JOBS)

    def add(self, ended_at: float, queue_s: float, first_token_s: float | None) -> None:
        """Record a job that ended."""
        self._jobs.append(_Times(ended_at, queue_s, first_token_s))

    def percentiles(self, now: float) -> Percentiles:
        """Those of the jobs that ended within the window."""
        while self._jobs and self._jobs[0].ended_at <= now - WINDOW_S:
            self._jobs.popleft()
        first = [job.first_token_s for job in self._jobs if job.first_token_s is not None]
        return Percentiles(_p95([job.queue_s for job in self._jobs]), _p95(first))


def _p95(values: Sequence[float]) -> float | None:
    return sorted(values)[int(0.95 * len(values))] if values else None

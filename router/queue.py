"""The only waiting queue."""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Iterator
from itertools import islice

from cactus_actors.protocol.errors import Overloaded
from router.fair_share import FairShare
from router.job import Job

RATE_WINDOW_S = 10.0
MIN_RETRY_AFTER_S = 0.1
MAX_RETRY_AFTER_S = 60.0

Key = tuple[bool, int, float, int]


class DrainRate:
    """Departures a second, averaged with a memory that fades over RATE_WINDOW_S."""

    def __init__(self) -> None:
        self._rate = 0.0
        self._updated_at = 0.0

    def count(self, now: float) -> None:
        self._rate = self.read(now) + 1.0 / RATE_WINDOW_S
        self._updated_at = now

    def read(self, now: float) -> float:
        return self._rate * math.exp(-max(0.0, now - self._updated_at) / RATE_WINDOW_S)


class JobQueue:
    """Waiting jobs: those that lost their worker first, then by priority, then by turns of the users.

    Bounded by `max_jobs` and by `max_tokens` of prompts. Jobs that come back from a lost worker are always
    taken: they were accepted.
    """

    def __init__(self, max_jobs: int, max_tokens: int) -> None:
        self._max_jobs = max_jobs
        self._max_tokens = max_tokens
        self._keys: list[Key] = []
        self._jobs: dict[Key, Job] = {}
        self._num_tokens = 0
        self._rate = DrainRate()
        self._shares = FairShare()

    def __len__(self) -> int:
        return len(self._keys)

    def __contains__(self, job: Job) -> bool:
        return _key(job) in self._jobs

    def __iter__(self) -> Iterator[Job]:
        return (self._jobs[key] for key in self._keys)

    def first(self, count: int) -> list[Job]:
        """At most `count` jobs from the front, all of the first one's priority."""
        front = list(islice(self, count))
        return [job for job in front if _key(job)[:2] == _key(front[0])[:2]]

    def check_room(self, num_tokens: int, now: float, *, num_coming: int = 0) -> None:
        """Raise Overloaded, saying when to come back, if a job of so many prompt tokens does not fit.

        `num_coming` jobs are on their way into the queue already.
        """
        if len(self._keys) + num_coming >= self._max_jobs:
            raise Overloaded(
                f"the queue is full: {len(self._keys)} jobs wait", retry_after=self.retry_after(now)
            )
        if self._num_tokens + num_tokens > self._max_tokens:
            raise Overloaded(
                f"the queue is full: {self._num_tokens} prompt tokens wait", retry_after=self.retry_after(now)
            )

    def retry_after(self, now: float) -> float:
        """Seconds until half of the queue has left, at the rate at which it drains."""
        rate = self._rate.read(now)
        if rate < 1e-3:
            return 1.0
        return round(min(MAX_RETRY_AFTER_S, max(MIN_RETRY_AFTER_S, len(self._keys) / 2 / rate)), 3)

    def add(self, job: Job) -> None:
        if not job.is_retry:
            job.turn = self._shares.turn_of(job)
        key = _key(job)
        assert key not in self._jobs
        insort(self._keys, key)
        self._jobs[key] = job
        self._num_tokens += len(job.prepared.prompt_ids)

    def take(self, job: Job, now: float) -> None:
        """Remove a job that is being dispatched."""
        self.remove(job)
        self._rate.count(now)
        self._shares.served(job)

    def remove(self, job: Job) -> None:
        key = _key(job)
        del self._jobs[key]
        del self._keys[bisect_left(self._keys, key)]
        self._num_tokens -= len(job.prepared.prompt_ids)


def _key(job: Job) -> Key:
    return (not job.is_retry, job.prepared.policy.priority, job.turn, job.arrival)

"""The only waiting queue."""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Iterator

from cactus_actors.protocol.errors import Overloaded
from cactus_actors.router.scheduling.backlog import Backlog
from cactus_actors.router.scheduling.fair_share import FairShare
from cactus_actors.router.scheduling.queued_loads import QueuedLoads
from cactus_actors.router.scheduling.user_jobs import QueuePosition, UserJobs
from cactus_actors.router.state.job import Job
from cactus_actors.router.state.queue_load import QueueLoad
from cactus_actors.router.state.reservation import Reservation

RATE_WINDOW_S = 10.0
MIN_RETRY_AFTER_S = 0.1
MAX_RETRY_AFTER_S = 60.0
RESERVE, RESERVE_SHARE = 0.1, 9
"""A full queue accepts RESERVE (10 %) more from users who wait with at most RESERVE_SHARE times the room left."""


class DrainRate:
    """Departures a second, as an exponential average over RATE_WINDOW_S."""

    def __init__(self) -> None:
        self._rate = 0.0
        self._updated_at = 0.0

    def count(self, now: float) -> None:
        self._rate = self.read(now) + 1.0 / RATE_WINDOW_S
        self._updated_at = now

    def read(self, now: float) -> float:
        return self._rate * math.exp(-max(0.0, now - self._updated_at) / RATE_WINDOW_S)


class JobQueue:
    """Waiting jobs: background work last, those that lost their worker first, then by priority and turns.

    Bounded in jobs, in tokens of prompts and in bytes, together with the reservations of requests that are on
    their way here. Jobs that come back from a worker are always taken: they were accepted. Tokens and bytes are the
    router's memory: among several models, the bounds on them are those of the queues of `all_models` together.
    """

    def __init__(
        self,
        users: UserJobs,
        backlog: Backlog,
        max_jobs: int,
        max_tokens: int,
        max_bytes: int,
        all_models: QueuedLoads | None = None,
    ) -> None:
        self._all_models = all_models
        self._coming = QueueLoad()
        self._reserved: dict[str, Reservation] = {}
        self._backlog = backlog
        self._user_jobs = users
        self._bound = QueueLoad(max_jobs, max_tokens, max_bytes)
        self._waiting = QueueLoad()
        self._keys: list[QueuePosition] = []
        self._jobs: dict[QueuePosition, Job] = {}
        self._rate = DrainRate()
        self._shares = FairShare()

    @property
    def load(self) -> QueueLoad:
        """The load of waiting jobs and of reservations."""
        load = QueueLoad()
        load += self._waiting
        load += self._coming
        return load

    def __len__(self) -> int:
        return len(self._keys)

    def __contains__(self, job: Job) -> bool:
        return queue_position(job) in self._jobs

    def __iter__(self) -> Iterator[Job]:
        return (self._jobs[key] for key in self._keys)

    def first(self, count: int) -> list[Job]:
        """At most `count` jobs from the front, all of the first one's priority."""
        keys, jobs = self._keys[:count], self._jobs
        front = keys[0][:3] if keys else ()
        return [jobs[key] for key in keys if key[:3] == front]

    def check_room(self, reservation: Reservation, now: float) -> None:
        """Raise Overloaded, with the time to come back, if a request does not fit.

        A request that is not prepared has no tokens yet; it is refused where no other token fits.
        """
        load, bound, held = reservation.load, self._bound, self.load
        own = self._backlog.load_of(reservation.user)
        if self._all_models is not None:
            queues = self._all_models
            held = QueueLoad(held.num_jobs, queues.total.num_tokens, queues.total.num_bytes)
            own_memory = queues.load_of(reservation.user)
            own = QueueLoad(own.num_jobs, own_memory.num_tokens, own_memory.num_bytes)
        if not _fits(load.num_jobs, held.num_jobs, own.num_jobs, bound.num_jobs):
            full = f"{held.num_jobs} jobs wait"
        elif not _fits(max(1, load.num_tokens), held.num_tokens, own.num_tokens, bound.num_tokens):
            full = f"{held.num_tokens} prompt tokens wait"
        elif not _fits(load.num_bytes, held.num_bytes, own.num_bytes, bound.num_bytes):
            full = f"{held.num_bytes} bytes wait"
        else:
            return
        raise Overloaded(f"the queue is full: {full}", retry_after=self.retry_after(now))

    def retry_after(self, now: float) -> float:
        """Seconds until half of the queue has left, at the rate at which it drains."""
        rate = self._rate.read(now)
        if rate < 1e-3:
            return 1.0
        seconds = (len(self._keys) + self._coming.num_jobs) / 2 / rate
        return round(min(MAX_RETRY_AFTER_S, max(MIN_RETRY_AFTER_S, seconds)), 3)

    def reserve(self, job_id: str, reservation: Reservation) -> None:
        """Count a request that is on its way here, in place of an earlier reservation for the same job."""
        self.release(job_id)
        self._reserved[job_id] = reservation
        self._coming += reservation.load
        self._add_load(reservation)

    def release(self, job_id: str) -> None:
        """End a reservation: its request joins the queue now, or never will. A second time changes nothing."""
        reservation = self._reserved.pop(job_id, None)
        if reservation is not None:
            self._coming -= reservation.load
            self._remove_load(reservation)

    def add(self, job: Job) -> None:
        if not job.attempts.is_retry:
            job.virtual_start = self._shares.virtual_start_of(job)
        self.reinsert(job)

    def reinsert(self, job: Job) -> None:
        """Queue a preempted job again, at the turn that it had."""
        key = queue_position(job)
        assert key not in self._jobs
        insort(self._keys, key)
        self._jobs[key] = job
        self._waiting += job.reservation.load
        self._add_load(job.reservation)
        self._user_jobs.on_queued(job, key)

    def urgent(self, count: int) -> list[Job]:
        """The jobs among the first `count` that clients wait for."""
        return [self._jobs[key] for key in self._keys[:count] if not key[0]]

    def first_jobs_of_idle_users(self, count: int) -> list[Job]:
        """The first jobs of the first `count` users who run nothing, without background work."""
        return [self._jobs[key] for key in self._user_jobs.first_jobs_of_idle_users(count)]

    def take(self, job: Job, now: float) -> None:
        """Remove a job that is being dispatched."""
        self.remove(job)
        self._rate.count(now)
        self._shares.served(job)

    def remove(self, job: Job) -> None:
        key = queue_position(job)
        del self._jobs[key]
        del self._keys[bisect_left(self._keys, key)]
        self._waiting -= job.reservation.load
        self._remove_load(job.reservation)
        self._user_jobs.on_dequeued(job, key)

    def _add_load(self, reservation: Reservation) -> None:
        self._backlog.add(reservation)
        if self._all_models is not None:
            self._all_models.add(reservation)

    def _remove_load(self, reservation: Reservation) -> None:
        self._backlog.remove(reservation)
        if self._all_models is not None:
            self._all_models.remove(reservation)


def _fits(wanted: int, held: int, own: int, bound: int) -> bool:
    """True if `wanted` more of a user fits, or fits in the reserve for users with little waiting."""
    left = int((1 + RESERVE) * bound) - held - wanted
    return held + wanted <= bound or (left >= 0 and own <= RESERVE_SHARE * left)


def queue_position(job: Job) -> QueuePosition:
    """The place of a job in the queue."""
    # With keys, no client may put its work before the usual work of others.
    priority = job.prepared.policy.priority
    if job.tenant or job.submission.account:
        priority = max(0, priority)
    return (job.is_background, not job.attempts.is_retry, priority, job.virtual_start, job.arrival_index)

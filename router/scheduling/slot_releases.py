"""Estimates when slots become free, from the work that running jobs have left."""

from __future__ import annotations

import math
from bisect import bisect_left, insort

from cactus_actors.router.state.job import Job
from cactus_actors.router.state.job_cost import work_of
from cactus_actors.router.state.worker import Assignment


class SlotReleases:
    """The work that each running job has left, in generated tokens.

    Generated tokens are counted on demand, once after each `mark_stale`. Background work is not counted: it can
    be preempted.
    """

    def __init__(self) -> None:
        self._running: dict[int, tuple[Assignment, float]] = {}  # by dispatch number, with the work left
        self._left: list[float] = []  # the same, least first
        self._total = 0.0
        self._is_old = False

    def on_started(self, assignment: Assignment) -> None:
        """Add a job that takes a slot, or waits at a worker for the next one."""
        left = _work_left(assignment.job)
        self._running[assignment.dispatch_id] = (assignment, left)
        insort(self._left, left)
        self._total += left

    def on_stopped(self, assignment: Assignment) -> None:
        """Remove a job that has left its slot; a second time changes nothing."""
        known = self._running.pop(assignment.dispatch_id, None)
        if known is not None:
            del self._left[bisect_left(self._left, known[1])]
            self._total -= known[1]

    @property
    def num_running(self) -> int:
        """Jobs that have a slot, or wait at a worker for the next one."""
        return len(self._running)

    @property
    def work_left(self) -> float:
        """The work that they have left, in sum."""
        if self._is_old:
            self._count()
        return max(0.0, self._total)

    def least_seconds_per_work(self, now: float) -> float:
        """The least time that one of them has for a unit of its work, until its deadline; infinite without one."""
        running = (assignment.job for assignment, _ in self._running.values())
        times = (
            (job.deadline - now) / left for job in running if job.deadline is not None and (left := _work_left(job))
        )
        return min(times, default=math.inf)

    def progress(self, now: float) -> tuple[float, float]:
        """The seconds that all running jobs have run, in sum, and the work done in them."""
        seconds = work = 0.0
        for assignment, _ in self._running.values():
            job, num_generated = assignment.job, len(assignment.job.local.log)
            if (started_at := job.attempts.started_at) is not None:
                seconds += now - started_at
                work += work_of(len(job.prepared.prompt_ids), num_generated) if num_generated else 0.0
        return seconds, work

    def mark_stale(self) -> None:
        """Recount the work left at the next query."""
        self._is_old = True

    def _count(self) -> None:
        self._is_old = False
        self._running = {number: (it, _work_left(it.job)) for number, (it, _) in self._running.items()}
        self._left = sorted(left for _, left in self._running.values())
        self._total = sum(self._left)

    def work_until_free(self, num_slots: int, num_ahead: float, work: float) -> float:
        """The work that each of `num_slots` slots does before one is free for the next job.

        `num_ahead` jobs of `work` each get a slot before it.
        """
        if self._is_old:
            self._count()
        num_free = num_slots - len(self._left)
        # Jobs that wait at a worker come after those that run: they have most left.
        num_ahead += max(0, -num_free)
        if num_ahead < num_free:
            return 0.0
        rounds, index = divmod(int(num_ahead), num_slots)
        first = self._left[index - max(0, num_free)] if index >= num_free else 0.0
        # Every slot is busy until one is free for it, with at most this work in all.
        return min(rounds * work + first, (num_ahead * work + self._total) / num_slots)


def _work_left(job: Job) -> float:
    """The expected work of a job less its progress, at least 0."""
    num_generated = len(job.local.log)
    if not num_generated:
        return job.reservation.work
    return max(0.0, job.reservation.work - work_of(len(job.prepared.prompt_ids), num_generated))

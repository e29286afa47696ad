"""When the places in the workers' batches become free, by what their jobs have left to do."""

from __future__ import annotations

from bisect import bisect_left, insort

from cactus_actors.router.state.job import Job
from cactus_actors.router.state.job_cost import work_of
from cactus_actors.router.state.worker import Assignment


class SlotReleases:
    """The work that is left of each job that runs, in generated tokens; kept as they come and go.

    What has been generated since is counted when it is asked for, once after each `look_again`. Background
    work is not counted: it gives way.
    """

    def __init__(self) -> None:
        self._running: dict[int, tuple[Assignment, float]] = {}  # by dispatch number, with what is left
        self._left: list[float] = []  # the same, least first
        self._total = 0.0
        self._is_old = False

    def on_started(self, assignment: Assignment) -> None:
        """A job takes a place, or waits at a worker for the next one."""
        left = _work_left(assignment.job)
        self._running[assignment.dispatch_id] = (assignment, left)
        insort(self._left, left)
        self._total += left

    def on_stopped(self, assignment: Assignment) -> None:
        """A job has left its place; a second time changes nothing."""
        known = self._running.pop(assignment.dispatch_id, None)
        if known is not None:
            del self._left[bisect_left(self._left, known[1])]
            self._total -= known[1]

    @property
    def num_running(self) -> int:
        """Jobs that have a place, or wait at a worker for the next one."""
        return len(self._running)

    def progress(self, now: float) -> tuple[float, float]:
        """Seconds that all running jobs have run for, and the work that they have done in them."""
        seconds = work = 0.0
        for assignment, _ in self._running.values():
            job, num_generated = assignment.job, len(assignment.job.local)
            if job.dispatched_at is not None:
                seconds += now - job.dispatched_at
                work += work_of(len(job.prepared.prompt_ids), num_generated) if num_generated else 0.0
        return seconds, work

    def mark_stale(self) -> None:
        """Time has passed: what is left is less."""
        self._is_old = True

    def _count(self) -> None:
        self._is_old = False
        self._running = {number: (it, _work_left(it.job)) for number, (it, _) in self._running.items()}
        self._left = sorted(left for _, left in self._running.values())
        self._total = sum(self._left)

    def work_until_free(self, num_slots: int, num_ahead: float, work: float) -> float:
        """How much work each of so many places does before one is free for the next job.

        `num_ahead` jobs of `work` each are given a place before it.
        """
        if self._is_old:
            self._count()
        num_free = num_slots - len(self._left)
        # What waits at a worker has its place after those that run: it has most left.
        num_ahead += max(0, -num_free)
        if num_ahead < num_free:
            return 0.0
        rounds, index = divmod(int(num_ahead), num_slots)
        first = self._left[index - max(0, num_free)] if index >= num_free else 0.0
        # Until a place is free for it every place is busy, with no more than all of this.
        return min(rounds * work + first, (num_ahead * work + self._total) / num_slots)


def _work_left(job: Job) -> float:
    """What is left of the work that a job is expected to take; none where it has taken more."""
    num_generated = len(job.local)
    if not num_generated:
        return job.reservation.work
    return max(0.0, job.reservation.work - work_of(len(job.prepared.prompt_ids), num_generated))

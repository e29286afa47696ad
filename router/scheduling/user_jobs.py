"""The waiting and running jobs of each user, updated as jobs come and go."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from itertools import islice

from cactus_actors.router.scheduling.slot_releases import SlotReleases
from cactus_actors.router.state.job import Job
from cactus_actors.router.state.worker import Assignment

QueuePosition = tuple[bool, bool, int, float, int]
"""A waiting job's place in the queue: background, first run, priority, turn, arrival."""


class UserJobs:
    """The jobs that clients wait for, by user, and background work, which belongs to no user here.

    The dispatcher sets `is_settled` once no preemption is possible; every change clears it.
    """

    def __init__(self) -> None:
        self.is_settled = True
        self.slot_releases = SlotReleases()
        self.background: dict[int, Assignment] = {}  # running background work by dispatch number, latest last
        self._waiting: dict[str, list[QueuePosition]] = {}
        self._running: dict[str, dict[int, Assignment]] = {}
        self._several: list[tuple[int, str]] = []  # (running jobs, user) of users who run more than one
        self._first_jobs_of_idle_users: list[QueuePosition] = []  # first waiting jobs of users who run nothing

    def num_running(self, user: str) -> int:
        """The running jobs of that user, without background work."""
        return len(self._running.get(user, ()))

    @property
    def background_latest_first(self) -> Iterator[Assignment]:
        """Running background work; the latest has least to compute again."""
        return reversed(self.background.values())

    @property
    def several_latest_first(self) -> Iterator[Assignment]:
        """Dispatches of users who run several: the user with most first, and of a user the latest first."""
        return (
            assignment for _, user in reversed(self._several) for assignment in reversed(self._running[user].values())
        )

    @property
    def some_run_several(self) -> bool:
        return bool(self._several)

    def first_jobs_of_idle_users(self, count: int) -> list[QueuePosition]:
        """The first waiting jobs of at most `count` users who run nothing, in the queue's order."""
        return list(islice(self._first_jobs_of_idle_users, count))

    def on_queued(self, job: Job, key: QueuePosition) -> None:
        """Record that a job joined the queue."""
        self.is_settled = False
        if not job.is_background:
            user = job.user
            self._remove_from_lists(user)
            insort(self._waiting.setdefault(user, []), key)
            self._add_to_lists(user)

    def on_dequeued(self, job: Job, key: QueuePosition) -> None:
        """Record that a job left the queue."""
        self.is_settled = False
        if not job.is_background:
            user = job.user
            self._remove_from_lists(user)
            keys = self._waiting[user]
            del keys[bisect_left(keys, key)]
            if not keys:
                del self._waiting[user]
            self._add_to_lists(user)

    def on_started(self, assignment: Assignment) -> None:
        """Record that a job was assigned to a worker."""
        self.is_settled = False
        if assignment.job.is_background:
            self.background[assignment.dispatch_id] = assignment
            return
        self.slot_releases.on_started(assignment)
        user = assignment.job.user
        self._remove_from_lists(user)
        self._running.setdefault(user, {})[assignment.dispatch_id] = assignment
        self._add_to_lists(user)

    def on_stopped(self, assignment: Assignment) -> None:
        """Record that a job no longer runs, or that its worker takes no other; a second time changes nothing."""
        self.is_settled = False
        if assignment.job.is_background:
            self.background.pop(assignment.dispatch_id, None)
            return
        user = assignment.job.user
        running = self._running.get(user)
        if running is None or assignment.dispatch_id not in running:
            return
        self.slot_releases.on_stopped(assignment)
        self._remove_from_lists(user)
        del running[assignment.dispatch_id]
        if not running:
            del self._running[user]
        self._add_to_lists(user)

    def _remove_from_lists(self, user: str) -> None:
        num_running = len(self._running.get(user, ()))
        if num_running > 1:
            del self._several[bisect_left(self._several, (num_running, user))]
        elif num_running == 0 and (keys := self._waiting.get(user)):
            del self._first_jobs_of_idle_users[bisect_left(self._first_jobs_of_idle_users, keys[0])]

    def _add_to_lists(self, user: str) -> None:
        num_running = len(self._running.get(user, ()))
        if num_running > 1:
            insort(self._several, (num_running, user))
        elif num_running == 0 and (keys := self._waiting.get(user)):
            insort(self._first_jobs_of_idle_users, keys[0])

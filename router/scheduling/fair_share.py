"""Start-time fair queueing between users (Goyal, Vin, Cheng 1996), by weight and by the cost of jobs."""

from __future__ import annotations

from cactus_actors.router.state.job import Job

MAX_IDLE_USERS = 1024


class FairShare:
    """Gives each job a turn; lower turns are served first.

    A user's jobs take turns one after the other; a turn comes after the previous one by the previous job's
    cost, divided by its weight. So waiting users share the tokens by their weights, however many jobs each
    sends. A user who returns after a pause starts at the current turn: unused shares are not saved up.
    """

    def __init__(self) -> None:
        self._now = 0.0  # the turn that was served last
        self._ends: dict[str, float] = {}  # where each user's last job ends

    def virtual_start_of(self, job: Job) -> float:
        """The turn of a new job."""
        start = max(self._now, self._ends.get(job.user, 0.0))
        self._ends[job.user] = start + job.cost / job.submission.grants.weight
        return start

    def served(self, job: Job) -> None:
        """Record that a job left the queue for a worker."""
        self._now = max(self._now, job.virtual_start)
        if len(self._ends) > MAX_IDLE_USERS:
            self._ends = {user: end for user, end in self._ends.items() if end > self._now}

"""Who makes room for whom when every slot is taken. Pure functions.

Background work gives way to work that somebody waits for, and of a user who runs several jobs the one that
came last to a user who runs none. Beyond that turns decide: whoever runs something waits for his.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cactus_actors.router.scheduling.user_jobs import UserJobs
from cactus_actors.router.state.job import Job
from cactus_actors.router.state.worker import Assignment, WorkerRecord

MAX_CANDIDATE_WORKERS = 8
"""Workers that are looked at for one job."""


@dataclass(frozen=True, slots=True)
class PreemptionPlan:
    """The dispatches to take back, and the job that goes to their worker instead."""

    victims: list[Assignment]
    job: Job
    worker: WorkerRecord


def plan_preemption(waiting: Sequence[Job], givers: Iterable[Assignment], users: UserJobs) -> PreemptionPlan | None:
    """How the first of the waiting jobs that can comes to a slot; none of them is background.

    `givers` are dispatches that may have to give way, the likeliest first. Where no slot can be made, because
    a job needs more blocks than give way, background work loses its place on deck to it: the next slot is for
    that job.
    """
    if not waiting:
        return None
    candidates = _candidate_workers(givers)
    refused: set[str] = set()  # users; what one of a user's jobs does not get, the next one does not
    for job in waiting:
        if job.user in refused:
            continue
        for candidate in candidates:
            if victims := candidate.make(job, users):
                return PreemptionPlan(victims, job, candidate.worker)
        refused.add(job.user)
    for candidate in candidates:
        if candidate.on_deck:
            return PreemptionPlan(candidate.on_deck, waiting[0], candidate.worker)
    return None


def _candidate_workers(givers: Iterable[Assignment]) -> list[_CandidateWorker]:
    """The workers of these dispatches that take jobs, the one that has most room first."""
    workers: dict[str, WorkerRecord] = {}
    for assignment in givers:
        if assignment.worker.is_open:
            workers[assignment.worker.worker_id] = assignment.worker
            if len(workers) == MAX_CANDIDATE_WORKERS:
                break
    candidates = [_CandidateWorker(worker) for worker in workers.values()]
    return sorted(candidates, key=lambda candidate: candidate.num_slots, reverse=True)


class _CandidateWorker:
    """What a worker has left, and what in it may give way."""

    def __init__(self, worker: WorkerRecord) -> None:
        self.worker = worker
        self.num_slots = worker.hello.num_slots - len(worker.assignments)
        may_go = [it for it in worker.assignments.values() if it.job.is_preemptible]
        self._background = [it for it in may_go if it.job.is_background]
        self._others = [it for it in may_go if not it.job.is_background]

    @property
    def on_deck(self) -> list[Assignment]:
        """The background dispatches that have no slot yet."""
        num_surplus = min(len(self._background), max(0, -self.num_slots))
        return self._background[len(self._background) - num_surplus :]

    def make(self, job: Job, users: UserJobs) -> list[Assignment]:
        """The dispatches to take back for this job; none if room cannot be made, or is there already."""
        num_blocks = self.worker.num_blocks_of(job)
        num_slots, num_free = self.num_slots, self.worker.free_blocks
        background, others = [*self._background], [*self._others]
        taken: list[Assignment] = []
        while num_slots < 1 or (num_blocks > num_free and len(taken) < len(self.worker.assignments)):
            victim = background.pop() if background else _pop_of_richer(others, taken, job.user, users)
            if victim is None:
                return []
            taken.append(victim)
            num_slots += 1
            num_free += self.worker.num_blocks_of(victim.job)
        return taken


def _pop_of_richer(
    others: list[Assignment], taken: Sequence[Assignment], user: str, users: UserJobs
) -> Assignment | None:
    """Take out the last dispatch of somebody who runs several, for a user who runs none; None without one.

    `taken` are dispatches that are taken back already and still counted as running.
    """
    if users.num_running(user):
        return None
    num_taken = Counter(it.job.user for it in taken if not it.job.is_background)
    for index in reversed(range(len(others))):
        owner = others[index].job.user
        if users.num_running(owner) - num_taken[owner] >= 2:
            return others.pop(index)
    return None

"""Chooses the dispatches to preempt when every slot is taken. Pure functions.

A job that a client waits for preempts background work. A user with nothing running preempts the newest job of a
user who runs several. Users with a running job wait for their turn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cactus_actors.router.scheduling.user_jobs import UserJobs
from cactus_actors.router.state.job import Job
from cactus_actors.router.state.worker import Assignment, WorkerRecord

MAX_CANDIDATE_WORKERS = 8
"""The most workers that are examined for one job."""


@dataclass(frozen=True, slots=True)
class PreemptionPlan:
    """The dispatches to take back, and the job that goes to their worker instead."""

    victims: list[Assignment]
    job: Job
    worker: WorkerRecord


def plan_preemption(
    waiting: Sequence[Job], preemptible: Iterable[Assignment], users: UserJobs
) -> PreemptionPlan | None:
    """A plan that gives a slot to the first waiting job for which one can be freed; none of them is background.

    `preemptible` are dispatches that may be preempted, the likeliest first. If no slot can be freed, because a job
    needs more blocks than preemption frees, it replaces background work on deck: the worker's next free slot is
    for that job.
    """
    if not waiting:
        return None
    candidates = _candidate_workers(preemptible)
    refused: set[str] = set()  # users; if one job of a user gets no slot, the next one gets none either
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


def _candidate_workers(preemptible: Iterable[Assignment]) -> list[_CandidateWorker]:
    """The open workers of these dispatches, those with most free slots first."""
    workers: dict[str, WorkerRecord] = {}
    for assignment in preemptible:
        if assignment.worker.is_open:
            workers[assignment.worker.worker_id] = assignment.worker
            if len(workers) == MAX_CANDIDATE_WORKERS:
                break
    candidates = [_CandidateWorker(worker) for worker in workers.values()]
    return sorted(candidates, key=lambda candidate: candidate.num_slots, reverse=True)


class _CandidateWorker:
    """A worker's free slots, and its dispatches that may be preempted."""

    def __init__(self, worker: WorkerRecord) -> None:
        self.worker = worker
        self.num_slots = worker.hello.num_slots - len(worker.assignments)
        may_go = [it for it in worker.assignments.values() if it.job.is_preemptible]
        self._background = [it for it in may_go if it.job.is_background]
        self._others = [it for it in may_go if not it.job.is_background]

    @property
    def on_deck(self) -> list[Assignment]:
        """The background dispatches on deck: they wait at the worker for a slot."""
        num_surplus = min(len(self._background), max(0, -self.num_slots))
        return self._background[len(self._background) - num_surplus :]

    def make(self, job: Job, users: UserJobs) -> list[Assignment]:
        """The dispatches to preempt for this job; none if that frees too little, or is not needed."""
        num_blocks = self.worker.num_blocks_of(job)
        num_slots, num_free = self.num_slots, self.worker.free_blocks
        background, others = [*self._background], [*self._others]
        taken: list[Assignment] = []
        while num_slots < 1 or (num_blocks > num_free and len(taken) < len(self.worker.assignments)):
            victim = background.pop() if background else _pop_of_user_with_more_running(others, taken, job.user, users)
            if victim is None:
                return []
            taken.append(victim)
            num_slots += 1
            num_free += self.worker.num_blocks_of(victim.job)
        return taken


def _pop_of_user_with_more_running(
    others: list[Assignment], taken: Sequence[Assignment], user: str, users: UserJobs
) -> Assignment | None:
    """Remove and return the last dispatch of a user who runs several, for a user who runs none; None without one.

    `taken` are dispatches that are preempted already and still counted as running.
    """
    if users.num_running(user):
        return None
    num_taken = Counter(it.job.user for it in taken if not it.job.is_background)
    for index in reversed(range(len(others))):
        owner = others[index].job.user
        if users.num_running(owner) - num_taken[owner] >= 2:
            return others.pop(index)
    return None

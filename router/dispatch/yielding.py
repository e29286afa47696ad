"""Who makes room for whom when every slot is taken. Pure functions.

Background work gives way to work that somebody waits for, and a user who runs several jobs to one who runs
none. Beyond that turns decide: whoever runs something waits for his.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from router.dispatch.ledger import Assignment, WorkerRecord
from router.jobs.job import Job


@dataclass(frozen=True, slots=True)
class Way:
    """The dispatches to take back, and the job that goes to their worker instead, if one does at once."""

    victims: list[Assignment]
    job: Job | None = None
    worker: WorkerRecord | None = None


def ways_for(waiting: Sequence[Job], workers: Sequence[WorkerRecord]) -> list[Way]:
    """How those of the waiting jobs, none of them background, come to a slot that find none free.

    The worker that has most room gives way first, and of its jobs the one that came last: it has least to
    compute again. A job that no slot can be made for costs nobody a slot, but background work its place on
    deck: the next slot is for that job.
    """
    rooms = [_Room(worker) for worker in workers]
    num_running = Counter(
        assignment.job.user
        for worker in workers
        for assignment in worker.assignments.values()
        if not assignment.job.is_background
    )
    ways: list[Way] = []
    refused: set[str] = set()  # users; what one of a user's jobs does not get, the next one does not
    for job in waiting:
        if job.user in refused:
            continue
        for room in sorted(rooms, key=lambda room: room.num_slots, reverse=True):
            victims = room.make(job, num_running)
            if victims is not None:
                if victims:
                    ways.append(Way(victims, job, room.worker))
                break
        else:
            refused.add(job.user)
    if refused:
        ways.append(Way([it for room in rooms for it in room.on_deck]))
    return ways


class _Room:
    """What a worker has left while room is being made in it."""

    def __init__(self, worker: WorkerRecord) -> None:
        self.worker = worker
        self.num_slots = worker.hello.num_slots - len(worker.assignments)
        self._num_blocks = worker.free_blocks
        self._is_idle = not worker.assignments
        may_go = [it for it in worker.assignments.values() if it.job.may_yield]
        self._background = [it for it in may_go if it.job.is_background]
        self._others = [it for it in may_go if not it.job.is_background]

    @property
    def on_deck(self) -> list[Assignment]:
        """The background dispatches that have no slot yet."""
        num_surplus = min(len(self._background), max(0, -self.num_slots))
        return self._background[len(self._background) - num_surplus :]

    def make(self, job: Job, num_running: Counter[str]) -> list[Assignment] | None:
        """The dispatches to take back for this job, whose room is then taken; None if it cannot be made.

        `num_running` counts the jobs of each user, and is kept up to date.
        """
        num_blocks = self.worker.num_blocks_of(job)
        background, others = [*self._background], [*self._others]
        num_slots, num_free = self.num_slots, self._num_blocks
        taken: list[Assignment] = []
        taken_of: Counter[str] = Counter()
        while num_slots < 1 or (num_blocks > num_free and not self._is_idle):
            if background:
                victim = background.pop()
            elif richer := _pop_of_richer(others, job.user, num_running, taken_of):
                victim = richer
                taken_of[victim.job.user] += 1
            else:
                return None
            taken.append(victim)
            num_slots += 1
            num_free += self.worker.num_blocks_of(victim.job)
        self._background, self._others, self._is_idle = background, others, False
        self.num_slots, self._num_blocks = num_slots - 1, num_free - num_blocks
        num_running.subtract(taken_of)
        num_running[job.user] += 1
        return taken


def _pop_of_richer(
    others: list[Assignment], user: str, num_running: Counter[str], taken_of: Counter[str]
) -> Assignment | None:
    """Take out the last dispatch of somebody who runs several, for a user who runs none; None without one.

    `taken_of` counts those of each user that were taken already and are still in `num_running`.
    """
    if num_running[user]:
        return None
    for index in reversed(range(len(others))):
        owner = others[index].job.user
        if num_running[owner] - taken_of[owner] >= 2:
            return others.pop(index)
    return None

"""Background work makes room for work that somebody waits for. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence

from router.job import Job
from router.ledger import Assignment, WorkerRecord


def victims_for(urgent: Sequence[Job], workers: Sequence[WorkerRecord]) -> list[Assignment]:
    """The background dispatches to take back so that each of the urgent jobs finds a slot and blocks.

    The worker that has most room gives way first, and of its background jobs the one that came last: it has
    least to compute again. A job that no slot can be made for costs nobody a slot, but what is on deck: the
    next slot is for that job.
    """
    rooms = [_Room(worker) for worker in workers]
    victims: list[Assignment] = []
    for job in urgent:
        for room in sorted(rooms, key=lambda room: room.num_slots, reverse=True):
            taken = room.make(job)
            if taken is not None:
                victims += taken
                break
        else:
            return victims + [it for room in rooms for it in room.on_deck]
    return victims


class _Room:
    """What a worker has left while room is being made in it."""

    def __init__(self, worker: WorkerRecord) -> None:
        self._worker = worker
        self.num_slots = worker.hello.num_slots - len(worker.assignments)
        self._num_blocks = worker.free_blocks
        self._is_idle = not worker.assignments
        self._background = [it for it in worker.assignments.values() if it.job.may_yield]

    @property
    def on_deck(self) -> list[Assignment]:
        """The background dispatches that have no slot yet."""
        num_surplus = min(len(self._background), max(0, -self.num_slots))
        return self._background[len(self._background) - num_surplus :]

    def make(self, job: Job) -> list[Assignment] | None:
        """The dispatches to take back for this job, whose room is then taken; None if it cannot be made."""
        num_blocks = self._worker.num_blocks_of(job)
        background, num_slots, num_free = [*self._background], self.num_slots, self._num_blocks
        taken: list[Assignment] = []
        while num_slots < 1 or (num_blocks > num_free and not self._is_idle):
            if not background:
                return None
            taken.append(background.pop())
            num_slots += 1
            num_free += self._worker.num_blocks_of(taken[-1].job)
        self._background, self._is_idle = background, False
        self.num_slots, self._num_blocks = num_slots - 1, num_free - num_blocks
        return taken

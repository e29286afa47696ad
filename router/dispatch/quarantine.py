"""Jobs that workers may have died of: each runs alone, so that it takes nobody with it."""

from __future__ import annotations

from collections.abc import Iterable

from router.dispatch.ledger import WorkerRecord
from router.jobs.job import Job


class Quarantine:
    """Suspects that wait for a worker of their own, in the order of their arrival."""

    def __init__(self) -> None:
        self._jobs: list[Job] = []

    def __len__(self) -> int:
        return len(self._jobs)

    def __contains__(self, job: Job) -> bool:
        return job in self._jobs

    def add(self, job: Job) -> None:
        self._jobs.append(job)

    def remove(self, job: Job) -> None:
        self._jobs.remove(job)

    def next_pair(self, workers: Iterable[WorkerRecord]) -> tuple[Job | None, WorkerRecord | None]:
        """The suspect to run now, and the worker that is kept free for suspects.

        Without a suspect that waits there is no such worker. While the worker that has least to do is not
        idle yet, there is no suspect to run now.
        """
        free = [worker for worker in workers if not runs_suspect(worker)]
        if not self._jobs or not free:
            return None, None
        worker = min(free, key=lambda worker: len(worker.assignments))
        return (None if worker.assignments else self._jobs[0]), worker


def runs_suspect(worker: WorkerRecord) -> bool:
    return any(assignment.job.is_suspect for assignment in worker.assignments.values())

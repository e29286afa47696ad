"""Jobs that may have crashed their workers: each runs alone, so that it harms no other job."""

from __future__ import annotations

from collections.abc import Iterator

from cactus_actors.router.scheduling.worker_table import WorkerTable
from cactus_actors.router.state.job import Job
from cactus_actors.router.state.worker import WorkerRecord


class Quarantine:
    """Suspects that wait for a worker of their own, in the order of their arrival."""

    def __init__(self, workers: WorkerTable) -> None:
        self._workers = workers
        self._jobs: dict[str, Job] = {}
        self._reserved: WorkerRecord | None = None

    def __len__(self) -> int:
        return len(self._jobs)

    def __iter__(self) -> Iterator[Job]:
        return iter(self._jobs.values())

    def __contains__(self, job: Job) -> bool:
        return job.job_id in self._jobs

    def add(self, job: Job) -> None:
        self._jobs[job.job_id] = job

    def remove(self, job: Job) -> None:
        del self._jobs[job.job_id]

    def next_pair(self) -> tuple[Job, WorkerRecord] | None:
        """A suspect to run now, and the idle worker for it.

        While a suspect waits and no worker is idle, the worker with the fewest assignments gets no new jobs.
        """
        worker = next(iter(self._workers.idle.values()), None)
        if self._jobs and worker is not None:
            self._reserve(None)
            return next(iter(self._jobs.values())), worker
        if not self._jobs:
            self._reserve(None)
        elif self._reserved is None or self._reserved.is_draining:
            workers = self._workers.local.values()
            self._reserve(min(workers, key=lambda worker: len(worker.assignments), default=None))
        return None

    def _reserve(self, worker: WorkerRecord | None) -> None:
        if worker is not self._reserved:
            if self._reserved is not None:
                self._workers.reserve(self._reserved, False)
            if worker is not None:
                self._workers.reserve(worker, True)
            self._reserved = worker

"""Jobs that ended and can still be read."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from cactus_actors.protocol.messages import JobState

MAX_ENDED_JOBS = 100_000
"""Jobs with an idempotency key that are kept at most, and as many others."""


class EndedJob(msgspec.Struct, frozen=True, gc=False):
    """A job after its end; its result is in the `ResultStore` or in the journal."""

    digest: bytes
    state: JobState
    length: int
    ended_at: float
    tenant: str
    is_keyed: bool


class EndedJobs:
    """The newest ended jobs by id; jobs must come in the order of their ends.

    Those with an idempotency key are kept for `keyed_retention_s` seconds, the others for `retention_s`. Each
    kind has its own room, so that many of one push out none of the other.
    """

    def __init__(self, retention_s: float, keyed_retention_s: float, max_jobs: int = MAX_ENDED_JOBS) -> None:
        self._plain: dict[str, EndedJob] = {}
        self._keyed: dict[str, EndedJob] = {}
        self._retention_s = retention_s
        self._keyed_retention_s = keyed_retention_s
        self._max_jobs = max_jobs

    def __len__(self) -> int:
        return len(self._plain) + len(self._keyed)

    def __contains__(self, job_id: str) -> bool:
        return job_id in self._plain or job_id in self._keyed

    def get(self, job_id: str) -> EndedJob | None:
        return self._plain.get(job_id) or self._keyed.get(job_id)

    def add(self, job_id: str, ended: EndedJob) -> None:
        jobs = self._keyed if ended.is_keyed else self._plain
        jobs[job_id] = ended

    def forget_old(self, now: float) -> list[str]:
        """Drop those whose retention is over, and the oldest where there are too many; their ids."""
        return [
            *self._dropped(self._plain, now - self._retention_s),
            *self._dropped(self._keyed, now - self._keyed_retention_s),
        ]

    def _dropped(self, jobs: dict[str, EndedJob], last_end: float) -> Iterator[str]:
        while jobs:
            job_id, oldest = next(iter(jobs.items()))
            if len(jobs) <= self._max_jobs and oldest.ended_at > last_end:
                return
            del jobs[job_id]
            yield job_id

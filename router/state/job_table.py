"""Every job by id: live jobs, ended jobs that can still be read, and counts of all jobs."""

from __future__ import annotations

import heapq

import msgspec

from cactus_actors.protocol.errors import JobNotFound
from cactus_actors.protocol.messages import JobState
from cactus_actors.protocol.results import HandoffStatus
from cactus_actors.protocol.service_status import JobCounts
from cactus_actors.router.state.ended_jobs import MAX_ENDED_JOBS, EndedJob, EndedJobs
from cactus_actors.router.state.job import Job


class JobTable:
    """A job is in `live` from its acceptance to its end, then in `ended` until its retention is over.

    Retentions are in seconds; the second one is that of jobs with an idempotency key.
    """

    def __init__(self, retention_s: float, keyed_retention_s: float, max_ended_jobs: int = MAX_ENDED_JOBS) -> None:
        self.live: dict[str, Job] = {}
        self.ended = EndedJobs(retention_s, keyed_retention_s, max_ended_jobs)
        self.ahead: set[str] = set()
        """Live jobs that were admitted, and are not accepted yet."""
        self._deadlines: list[tuple[float, str]] = []
        self._totals = JobCounts()

    def get(self, job_id: str) -> Job | EndedJob | None:
        return self.live.get(job_id) or self.ended.get(job_id)

    def find(self, job_id: str, tenant: str) -> Job | EndedJob:
        """The job; raises JobNotFound, also for a job of another tenant."""
        found = self.get(job_id)
        if found is None or found.tenant != tenant:
            raise JobNotFound(f"no job {job_id[:64]!r} is known here", param="job_id")
        return found

    def is_live(self, job: Job) -> bool:
        return self.live.get(job.job_id) is job

    def add(self, job: Job) -> None:
        """Add a job; it counts as accepted once it is recorded."""
        self.live[job.job_id] = job
        if job.deadline is not None:
            heapq.heappush(self._deadlines, (job.deadline, job.job_id))

    def retract(self, job: Job) -> None:
        """Remove a job that no client was told about: it was refused."""
        del self.live[job.job_id]
        self.ahead.discard(job.job_id)
        self.count("rejected")

    def drop(self, job: Job, state: JobState) -> None:
        """End a job that can be read by nobody."""
        del self.live[job.job_id]
        self.count(state)

    def end(self, job: Job, ended: EndedJob, handoff: HandoffStatus) -> None:
        del self.live[job.job_id]
        self.ahead.discard(job.job_id)
        if not job.is_accepted:
            self.count("accepted")
        self.ended.add(job.job_id, ended)
        self.count(ended.state)
        if handoff != "none":
            self.count(f"handoffs_{handoff}")

    def count(self, total: str) -> None:
        """Add one to a field of JobCounts."""
        self._totals = msgspec.structs.replace(self._totals, **{total: getattr(self._totals, total) + 1})

    def counts(self, num_waiting: int) -> JobCounts:
        """All counts; `num_waiting` of the live jobs wait, the others run."""
        totals = self._totals
        num_live = len(self.ahead) + totals.accepted - totals.finished - totals.failed - totals.cancelled
        return msgspec.structs.replace(totals, queued=num_waiting, running=num_live - num_waiting)

    def overdue(self, now: float) -> list[Job]:
        """Live jobs whose deadline has passed; each is returned once."""
        jobs: list[Job] = []
        while self._deadlines and self._deadlines[0][0] <= now:
            deadline, job_id = heapq.heappop(self._deadlines)
            job = self.live.get(job_id)
            if job is not None and job.deadline == deadline:
                jobs.append(job)
        if len(self._deadlines) > 2 * len(self.live) + 1024:
            self._deadlines = [(job.deadline, job_id) for job_id, job in self.live.items() if job.deadline is not None]
            heapq.heapify(self._deadlines)
        return jobs

    def forget_old(self, now: float) -> list[str]:
        """Drop ended jobs whose retention is over; returns their ids."""
        return self.ended.forget_old(now)

    def restore(self, job_id: str, ended: EndedJob) -> None:
        """Add a job that ended under an earlier router; jobs must be added in the order of their ends."""
        self.ended.add(job_id, ended)
        self.count("accepted")
        self.count(ended.state)

"""The workers, what each was given, and how much more it can take."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec

from cactus_actors.protocol.messages import WorkerStatus
from cactus_actors.protocol.worker_messages import Dispatch, Hello, Report
from router.jobs.job import Job

MAX_SLOTS = 1 << 16
"""Of one worker: whatever it says of itself, it is taken for no more."""


@dataclass(slots=True, eq=False)
class Assignment:
    """A dispatch that is running, or on its way, at a worker."""

    dispatch_id: int
    job: Job
    worker: WorkerRecord

    @property
    def is_cloud(self) -> bool:
        return self.worker.hello.kind == "cloud"


@dataclass(slots=True, eq=False)
class WorkerRecord:
    """One connected worker; `num_sent` and the report's `num_accepted` both count since its Hello.

    What was taken back since its last report is vacated: it frees that before it reads what is sent next.
    """

    identity: bytes
    hello: Hello
    last_seen: float
    report: Report
    num_sent: int = 0
    is_draining: bool = False
    assignments: dict[int, Assignment] = field(default_factory=dict)
    unaccepted_blocks: deque[int] = field(default_factory=deque)
    vacated_slots: int = 0
    vacated_blocks: int = 0

    @property
    def worker_id(self) -> str:
        return self.hello.worker_id

    @property
    def free_slots(self) -> int:
        """Reported free slots less what is on its way, and never more than what is not assigned."""
        on_its_way = max(0, self.num_sent - self.report.num_accepted)
        num_reported = self.report.free_slots + self.vacated_slots - on_its_way
        return min(num_reported, self.hello.num_slots - len(self.assignments))

    @property
    def num_not_running(self) -> int:
        """Assignments that wait for something: on their way, or for a slot or blocks at the worker."""
        return len(self.assignments) - self.report.num_running

    @property
    def free_blocks(self) -> int:
        return self.report.free_blocks + self.vacated_blocks - sum(self.unaccepted_blocks)

    def num_blocks_of(self, job: Job) -> int:
        """Cache blocks for what a job must compute and its next token."""
        block_size = self.hello.block_size
        return job.num_tokens_to_compute // block_size + 1 if block_size > 0 else 0

    def vacate(self, assignment: Assignment) -> None:
        """A dispatch is being taken back."""
        self.vacated_slots += 1
        self.vacated_blocks += self.num_blocks_of(assignment.job)

    def take_report(self, report: Report, now: float) -> None:
        self.report = report
        self.last_seen = now
        self.vacated_slots = self.vacated_blocks = 0
        on_its_way = max(0, self.num_sent - report.num_accepted)
        while len(self.unaccepted_blocks) > on_its_way:
            self.unaccepted_blocks.popleft()

    def status(self, now: float) -> WorkerStatus:
        hello, report = self.hello, self.report
        return WorkerStatus(
            worker_id=hello.worker_id,
            kind=hello.kind,
            node=hello.node,
            pid=hello.pid,
            threads=hello.threads,
            kernels=hello.kernels,
            weights=hello.weights,
            state="draining" if self.is_draining else "ready",
            num_slots=hello.num_slots,
            free_slots=max(0, self.free_slots),
            num_blocks=hello.num_blocks,
            free_blocks=max(0, self.free_blocks),
            num_running=report.num_running,
            last_seen_s=max(0.0, now - self.last_seen),
            tokens_generated=report.tokens_generated,
            prompt_tokens_computed=report.prompt_tokens_computed,
            cached_prompt_tokens=report.cached_prompt_tokens,
            preemptions=report.preemptions,
            step_seconds=report.step_seconds,
            kernel_seconds=report.kernel_seconds,
            draft_tokens=report.draft_tokens,
            accepted_draft_tokens=report.accepted_draft_tokens,
            queried_prompt_tokens=report.queried_prompt_tokens,
            ram_usage_mb=report.ram_usage_mb,
            unavailable=report.unavailable,
            breaker=report.breaker,
        )


class Ledger:
    """Every worker by connection and by name, and every live dispatch by its number."""

    def __init__(self) -> None:
        self._by_identity: dict[bytes, WorkerRecord] = {}
        self._by_id: dict[str, WorkerRecord] = {}
        self._next_dispatch_id = 1

    def __iter__(self) -> Iterator[WorkerRecord]:
        return iter(self._by_id.values())

    @property
    def local(self) -> list[WorkerRecord]:
        """Local workers that take jobs."""
        return [worker for worker in self if worker.hello.kind == "local" and not worker.is_draining]

    @property
    def cloud(self) -> list[WorkerRecord]:
        """Cloud workers, whether or not they take jobs just now."""
        return [worker for worker in self if worker.hello.kind == "cloud" and not worker.is_draining]

    @property
    def num_dispatches(self) -> int:
        """Dispatches that are running, or on their way."""
        return sum(len(worker.assignments) for worker in self)

    def at(self, identity: bytes) -> WorkerRecord | None:
        return self._by_identity.get(identity)

    def named(self, worker_id: str) -> WorkerRecord | None:
        return self._by_id.get(worker_id)

    def add(self, identity: bytes, hello: Hello, now: float) -> WorkerRecord:
        """A worker said Hello; an older record of its name or connection must have been removed."""
        assert identity not in self._by_identity
        assert hello.worker_id not in self._by_id
        hello = msgspec.structs.replace(hello, num_slots=min(max(0, hello.num_slots), MAX_SLOTS))
        report = Report(0, hello.num_slots, hello.num_blocks, 0, [])
        worker = WorkerRecord(identity, hello, now, report)
        self._by_identity[identity] = self._by_id[hello.worker_id] = worker
        return worker

    def remove(self, worker: WorkerRecord) -> list[Assignment]:
        """Forget a worker; returns what it was assigned, oldest first."""
        del self._by_identity[worker.identity]
        del self._by_id[worker.worker_id]
        assignments = list(worker.assignments.values())
        worker.assignments.clear()
        return assignments

    def assign(self, worker: WorkerRecord, job: Job) -> Assignment:
        """Give a job to a worker, under a dispatch number that was never used before."""
        assignment = Assignment(self._next_dispatch_id, job, worker)
        self._next_dispatch_id += 1
        worker.assignments[assignment.dispatch_id] = assignment
        worker.num_sent += 1
        worker.unaccepted_blocks.append(worker.num_blocks_of(job))
        return assignment

    def release(self, assignment: Assignment) -> None:
        """The dispatch ended or is not wanted any more; a second release changes nothing."""
        assignment.worker.assignments.pop(assignment.dispatch_id, None)


def local_dispatch(assignment: Assignment, now: float) -> Dispatch:
    """The message that makes a worker go on where the job's log ends."""
    job, prepared = assignment.job, assignment.job.prepared
    return Dispatch(
        dispatch_id=assignment.dispatch_id,
        job_id=job.job_id,
        prompt_ids=prepared.prompt_ids,
        emitted_ids=list(job.local.token_ids),
        params=prepared.params,
        choice=prepared.choice,
        timeout_s=_time_left(job, now),
        cache_salt=prepared.policy.cache_salt,
        task=prepared.task,
        grammar=prepared.grammar,
        mirostat_mu=job.mirostat_mu,
    )


def cloud_dispatch(assignment: Assignment, now: float) -> Dispatch:
    """The message that asks a cloud; it carries text, because token ids mean nothing there."""
    job, prepared = assignment.job, assignment.job.prepared
    return Dispatch(
        dispatch_id=assignment.dispatch_id,
        job_id=job.job_id,
        prompt_ids=[],
        emitted_ids=[],
        params=prepared.params,
        timeout_s=_time_left(job, now),
        request=prepared.request,
    )


def _time_left(job: Job, now: float) -> float | None:
    return None if job.deadline is None else max(0.0, job.deadline - now)

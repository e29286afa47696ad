"""The workers, their assignments, and their free capacity."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from cactus_actors.protocol.worker_messages import Hello, Report
from cactus_actors.router.scheduling.free_capacity import UNLIMITED_BLOCKS, FreeCapacity
from cactus_actors.router.scheduling.user_jobs import UserJobs
from cactus_actors.router.state.job import Job
from cactus_actors.router.state.worker import Assignment, WorkerRecord

MAX_SLOTS = 1 << 16
"""The most slots of one worker that are used, whatever it reports."""


class WorkerTable:
    """All workers by connection and by name, live dispatches by number, and the free capacity of each worker.

    `slots` are the workers with a free slot, `decks` those where one more dispatch may wait on deck,
    `idle` the local workers without assignments. Only this class changes them, one worker at a time.
    """

    def __init__(self, users: UserJobs, on_deck: int) -> None:
        self.slots = FreeCapacity()
        self.decks = FreeCapacity()
        self.idle: dict[str, WorkerRecord] = {}
        self.local: dict[str, WorkerRecord] = {}  # workers that take jobs
        self.cloud: dict[str, WorkerRecord] = {}  # also workers that take no jobs now
        self.dispatches: dict[int, Assignment] = {}  # live ones, by number
        self._user_jobs = users
        self._on_deck = on_deck
        self._by_identity: dict[bytes, WorkerRecord] = {}
        self._by_id: dict[str, WorkerRecord] = {}
        self._num_joined = 0
        self._next_dispatch_id = 1

    def __iter__(self) -> Iterator[WorkerRecord]:
        return iter(self._by_id.values())

    @property
    def num_workers(self) -> int:
        return len(self._by_id)

    @property
    def num_dispatches(self) -> int:
        """The number of dispatches that run or are on their way."""
        return len(self.dispatches)

    def num_blocks_of(self, job: Job) -> int:
        """Cache blocks that a job needs; workers of one service share one block size."""
        worker = next(iter(self.local.values()), None)
        return 0 if worker is None else worker.num_blocks_of(job)

    def by_identity(self, identity: bytes) -> WorkerRecord | None:
        return self._by_identity.get(identity)

    def by_id(self, worker_id: str) -> WorkerRecord | None:
        return self._by_id.get(worker_id)

    def add(self, identity: bytes, hello: Hello, now: float) -> WorkerRecord:
        """Add a worker after its Hello; an older record of its name or connection must have been removed."""
        assert identity not in self._by_identity
        assert hello.worker_id not in self._by_id
        hello = msgspec.structs.replace(hello, num_slots=min(max(0, hello.num_slots), MAX_SLOTS))
        self._num_joined += 1
        worker = WorkerRecord(identity, hello, self._num_joined, now)
        self._by_identity[identity] = self._by_id[hello.worker_id] = worker
        (self.local if worker.is_local else self.cloud)[hello.worker_id] = worker
        self._settle(worker)
        return worker

    def remove(self, worker: WorkerRecord) -> list[Assignment]:
        """Forget a worker; returns its assignments, oldest first."""
        self.drain(worker)
        del self._by_identity[worker.identity]
        del self._by_id[worker.worker_id]
        assignments = list(worker.assignments.values())
        for dispatch_id in worker.assignments:
            del self.dispatches[dispatch_id]
        worker.assignments.clear()
        return assignments

    def drain(self, worker: WorkerRecord) -> None:
        """Give a worker no more jobs, not even in place of those it runs."""
        worker.is_draining = True
        self.local.pop(worker.worker_id, None)
        self.cloud.pop(worker.worker_id, None)
        for assignment in worker.assignments.values():
            self._user_jobs.on_stopped(assignment)
        self._settle(worker)

    def reserve(self, worker: WorkerRecord, is_reserved: bool) -> None:
        """Keep new jobs from a worker until all its jobs have ended, or end this."""
        worker.is_reserved = is_reserved
        self._settle(worker)

    def assign(self, worker: WorkerRecord, job: Job) -> Assignment:
        """Give a job to a worker, under a dispatch number that was never used before."""
        assignment = Assignment(self._next_dispatch_id, job, worker, worker.is_local and job.attempts.is_suspect)
        self._next_dispatch_id += 1
        self.dispatches[assignment.dispatch_id] = worker.assignments[assignment.dispatch_id] = assignment
        worker.in_flight.send(worker.num_blocks_of(job))
        worker.num_suspects += assignment.is_suspect
        if worker.is_local and not assignment.is_suspect:
            self._user_jobs.on_started(assignment)
        self._settle(worker)
        return assignment

    def release(self, assignment: Assignment) -> None:
        """Forget a dispatch that ended or is not needed; a second release changes nothing."""
        worker = assignment.worker
        if worker.assignments.pop(assignment.dispatch_id, None) is not None:
            del self.dispatches[assignment.dispatch_id]
            worker.num_suspects -= assignment.is_suspect
            self._user_jobs.on_stopped(assignment)
            self._settle(worker)

    def preempt(self, assignment: Assignment) -> None:
        """Take a dispatch back: its slot and its blocks are free for the next one sent to its worker."""
        worker = assignment.worker
        worker.in_flight.preempt(worker.num_blocks_of(assignment.job))
        self.release(assignment)

    def silent(self, seconds: float, now: float) -> list[WorkerRecord]:
        """The workers that sent nothing for more than this number of seconds."""
        return [worker for worker in self if worker.link.silent_s(now) > seconds]

    def excuse(self, seconds: float, now: float) -> None:
        """Do not count this number of seconds of every worker's silence."""
        for worker in self:
            worker.link.excuse(seconds, now)

    def take_report(self, worker: WorkerRecord, report: Report, now: float) -> None:
        """Record the state that a worker reports."""
        worker.link.on_report(report, worker.report, worker.in_flight.num_sent, now)
        # Tokens are freed now, while they are in the cache: later each costs the router a cache miss.
        spent = worker.report.spent if report.spent is None else report.spent
        audits = worker.report.audits if report.audits is None else report.audits
        worker.report = msgspec.structs.replace(report, deltas=[], stored=[], evicted=[], spent=spent, audits=audits)
        worker.in_flight.on_report(report.num_accepted)
        self._settle(worker)

    def _settle(self, worker: WorkerRecord) -> None:
        """Update a worker's free capacity; called after every change."""
        if not worker.is_local or self._by_id.get(worker.worker_id) is not worker:
            return
        if worker.assignments or worker.is_draining:
            self.idle.pop(worker.worker_id, None)
        else:
            self.idle[worker.worker_id] = worker
        free_slots = worker.free_slots if worker.is_open else -self._on_deck
        if free_slots > 0:
            num_blocks = worker.free_blocks if worker.assignments else UNLIMITED_BLOCKS
            self.slots.put(worker, free_slots, num_blocks)
        else:
            self.slots.drop(worker)
        if free_slots + self._on_deck > 0 and worker.num_not_running < self._on_deck:
            self.decks.put(worker, free_slots, UNLIMITED_BLOCKS)
        else:
            self.decks.drop(worker)

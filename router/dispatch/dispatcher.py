"""From the queue to the workers and back: late binding."""

from __future__ import annotations

from cactus_actors.config import RouterSettings
from cactus_actors.protocol.worker_messages import Abort
from router.books.tally import Tally
from router.dispatch.ledger import Assignment, Ledger, WorkerRecord, cloud_dispatch, local_dispatch
from router.dispatch.placement import LOOKAHEAD, Candidate, Vacancy, place
from router.dispatch.prefix_index import PrefixIndex
from router.dispatch.quarantine import Quarantine, runs_suspect
from router.dispatch.queue import JobQueue
from router.dispatch.yielding import ways_for
from router.effects import Outbox
from router.jobs.job import Job


class Dispatcher:
    """A job leaves the queue only for a free slot, or for the one place on deck."""

    def __init__(self, settings: RouterSettings, outbox: Outbox, tally: Tally) -> None:
        self.queue = JobQueue(settings.max_queued_jobs, settings.max_queued_tokens, settings.max_queued_bytes)
        self.quarantine = Quarantine()
        self.ledger = Ledger()
        self.prefixes = PrefixIndex()
        self._on_deck = settings.on_deck
        self._outbox = outbox
        self._tally = tally

    @property
    def num_waiting(self) -> int:
        return len(self.queue) + len(self.quarantine)

    def pump(self, now: float) -> None:
        """Place waiting jobs until nothing more fits."""
        reserved = self._place_suspects(now)
        self._make_way(reserved, now)
        while len(self.queue):
            workers = [
                worker
                for worker in self.ledger.local
                if worker is not reserved
                and worker.free_slots + self._on_deck > 0
                and not runs_suspect(worker)
            ]
            if not workers or not self._place_one(workers, now):
                return

    def return_to_queue(self, job: Job) -> None:
        """Its worker is gone: it goes first, or alone if it is a suspect, and continues after its tokens."""
        job.assignment = None
        job.is_retry = True
        if job.is_suspect:
            self.quarantine.add(job)
        else:
            self.queue.add(job)

    def ask_cloud(self, job: Job, worker: WorkerRecord, now: float) -> Assignment:
        """Send a job to a cloud worker, while its local run goes on."""
        assignment = self.ledger.assign(worker, job)
        self._outbox.command(worker.identity, cloud_dispatch(assignment, now))
        return assignment

    def free_cloud(self) -> WorkerRecord | None:
        """The available cloud worker with the most free slots."""
        workers = [
            worker
            for worker in self.ledger.cloud
            if worker.report.unavailable is None and worker.free_slots > 0
        ]
        return max(workers, key=lambda worker: worker.free_slots, default=None)

    def abort(self, assignment: Assignment) -> None:
        """Forget a dispatch and tell its worker."""
        self.ledger.release(assignment)
        self._outbox.command(assignment.worker.identity, Abort(assignment.dispatch_id))

    def release_local(self, job: Job) -> None:
        """Take a job out of the queue or away from its local worker."""
        if job.assignment is not None:
            self._tally.attempts["aborted"] += 1
            self.abort(job.assignment)
            job.assignment = None
        elif job in self.queue:
            self.queue.remove(job)
        elif job in self.quarantine:
            self.quarantine.remove(job)

    def release(self, job: Job) -> None:
        """Nobody works on this job any more."""
        self.release_local(job)
        if job.cloud is not None and job.cloud.assignment is not None:
            self._tally.cloud_attempts["aborted"] += 1
            self.abort(job.cloud.assignment)
            job.cloud.assignment = None

    def _place_suspects(self, now: float) -> WorkerRecord | None:
        """Give suspects the workers that are idle; the worker that the next one waits for."""
        while True:
            job, worker = self.quarantine.next_pair(self.ledger.local)
            if job is None or worker is None:
                return worker
            self.quarantine.remove(job)
            self._send(job, worker, now)

    def _make_way(self, reserved: WorkerRecord | None, now: float) -> None:
        """Take back work that gives way to jobs that have no slot."""
        if not len(self.queue):
            return
        workers = [
            worker for worker in self.ledger.local if worker is not reserved and not runs_suspect(worker)
        ]
        num_slots = sum(worker.hello.num_slots for worker in workers)
        for way in ways_for(self.queue.urgent(num_slots), workers):
            for assignment in way.victims:
                assignment.worker.vacate(assignment)
                self.abort(assignment)
                self._tally.attempts["yielded"] += 1
                assignment.job.assignment = None
                self.queue.put_back(assignment.job)
            if way.job is not None and way.worker is not None:
                self.queue.take(way.job, now)
                self._send(way.job, way.worker, now)

    def _place_one(self, workers: list[WorkerRecord], now: float) -> bool:
        waiting = self.queue.first(LOOKAHEAD)
        vacancies = [
            Vacancy(
                worker.worker_id,
                worker.free_slots,
                worker.free_blocks,
                worker.free_slots + self._on_deck > 0 and worker.num_not_running < self._on_deck,
                is_idle=not worker.assignments,
            )
            for worker in workers
        ]
        # Workers of one service share one block size.
        candidates = [
            Candidate(job.job_id, workers[0].num_blocks_of(job), now - job.arrived_at) for job in waiting
        ]
        placement = place(
            vacancies,
            candidates,
            lambda worker_id, index: self.prefixes.num_cached(
                worker_id, waiting[index].prepared.block_hashes
            ),
        )
        if placement is None:
            return False
        worker_id, index = placement
        worker = self.ledger.named(worker_id)
        assert worker is not None
        self.queue.take(waiting[index], now)
        self._send(waiting[index], worker, now)
        return True

    def _send(self, job: Job, worker: WorkerRecord, now: float) -> None:
        job.assignment = self.ledger.assign(worker, job)
        job.attempts += 1
        job.worker = worker.worker_id
        if job.dispatched_at is None:
            job.dispatched_at = now
        self.prefixes.record(worker.worker_id, job.prepared.block_hashes)
        self._outbox.command(worker.identity, local_dispatch(job.assignment, now))

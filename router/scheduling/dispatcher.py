"""Binds waiting jobs to workers at the last moment, and takes them back."""

from __future__ import annotations

from collections.abc import Sequence

from cactus_actors.config import RouterSettings
from cactus_actors.protocol.worker_messages import Abort, Report
from cactus_actors.router.effects import Outbox
from cactus_actors.router.scheduling.dispatch_message import cloud_dispatch, local_dispatch
from cactus_actors.router.scheduling.forecast import Forecast
from cactus_actors.router.scheduling.free_capacity import FreeCapacity
from cactus_actors.router.scheduling.job_queue import JobQueue
from cactus_actors.router.scheduling.preemption import PreemptionPlan, plan_preemption
from cactus_actors.router.scheduling.prefix_index import PrefixIndex
from cactus_actors.router.scheduling.quarantine import Quarantine
from cactus_actors.router.scheduling.queued_loads import QueuedLoads
from cactus_actors.router.scheduling.user_jobs import UserJobs
from cactus_actors.router.scheduling.worker_choice import HEAD_OF_LINE_AFTER_S, LOOKAHEAD, Candidate, choose_worker
from cactus_actors.router.scheduling.worker_table import WorkerTable
from cactus_actors.router.state.job import Job
from cactus_actors.router.state.worker import Assignment, WorkerRecord
from cactus_actors.router.telemetry.counters import RouterCounters


class Dispatcher:
    """A job leaves the queue only for a free slot, or to wait on deck: at a full worker, for its next free slot.

    No decision iterates over all workers or all jobs: the worker table tracks free capacity, UserJobs waiting and
    running jobs, the prefix index the prefixes of each worker.
    """

    def __init__(
        self,
        settings: RouterSettings,
        outbox: Outbox,
        counters: RouterCounters,
        all_models: QueuedLoads | None = None,
    ) -> None:
        self.user_jobs = UserJobs()
        self.forecast = Forecast(self.user_jobs)
        self.queue = JobQueue(
            self.user_jobs,
            self.forecast.backlog,
            settings.max_queued_jobs,
            settings.max_queued_tokens,
            settings.max_queued_bytes,
            all_models,
        )
        self.workers = WorkerTable(self.user_jobs, settings.on_deck)
        self.quarantine = Quarantine(self.workers)
        self.prefixes = PrefixIndex()
        self._outbox = outbox
        self._counters = counters
        self._late: list[Job] = []

    @property
    def num_waiting(self) -> int:
        return len(self.queue) + len(self.quarantine)

    @property
    def waiting(self) -> list[Job]:
        """The jobs that have no worker."""
        return [*self.queue, *self.quarantine]

    def pump(self, now: float) -> None:
        """Place waiting jobs until nothing more fits."""
        self._place_suspects(now)
        workers = self.workers
        while len(self.queue) and (
            self._place_one(workers.slots, now) or self._preempt(now) or self._place_one(workers.decks, now)
        ):
            pass

    def take_late(self) -> list[Job]:
        """The jobs that left the queue because they could not end in time, to be ended."""
        late, self._late = self._late, []
        return late

    def reconsider(self, now: float) -> None:
        """Check again after time has passed: a preemption that was impossible may be possible now."""
        self.user_jobs.is_settled = False
        self.user_jobs.slot_releases.mark_stale()
        num_slots = sum(worker.hello.num_slots for worker in self.workers.local.values())
        num_workers = sum(worker.is_local for worker in self.workers)  # also of draining ones jobs run
        self.forecast.update_slots(num_slots, num_workers, now)

    def take_report(self, worker: WorkerRecord, report: Report, now: float) -> None:
        """Record the state that a worker reports."""
        self.workers.take_report(worker, report, now)
        if report.stored or report.evicted:
            self.prefixes.update(worker.worker_id, report.stored, report.evicted)

    def forget(self, worker: WorkerRecord) -> list[Assignment]:
        """Forget a worker that is gone; returns its assignments, oldest first."""
        self.prefixes.forget(worker.worker_id)
        return self.workers.remove(worker)

    def return_to_queue(self, job: Job) -> None:
        """Queue a job whose worker is gone: first in line, or alone if it is a suspect; it keeps its tokens."""
        job.attempts.dispatch_id, job.attempts.is_retry = None, True
        self.add(job)

    def add(self, job: Job) -> None:
        """Let a job wait for a slot, or alone for a worker if it is a suspect."""
        if job.attempts.is_suspect:
            self.quarantine.add(job)
        else:
            self.queue.add(job)

    def ask_cloud(self, job: Job, worker: WorkerRecord, now: float) -> int:
        """Send a job to a cloud worker, while its local run continues; returns the number of the dispatch."""
        assignment = self.workers.assign(worker, job)
        self._outbox.command(worker.identity, cloud_dispatch(assignment, now))
        return assignment.dispatch_id

    def free_cloud(self) -> WorkerRecord | None:
        """The available cloud worker with the most free slots."""
        workers = [
            worker
            for worker in self.workers.cloud.values()
            if worker.report.unavailable is None and worker.free_slots > 0
        ]
        return max(workers, key=lambda worker: worker.free_slots, default=None)

    def abort(self, assignment: Assignment) -> None:
        """Forget a dispatch and abort it at its worker."""
        self.workers.release(assignment)
        self._outbox.command(assignment.worker.identity, Abort(assignment.dispatch_id))

    def release_local(self, job: Job) -> None:
        """Take a job out of the queue or away from its local worker."""
        attempts = job.attempts
        if attempts.dispatch_id is not None:
            self._counters.attempts["aborted"] += 1
            self.abort(self.workers.dispatches[attempts.dispatch_id])
            attempts.dispatch_id = None
        elif job in self.queue:
            self.queue.remove(job)
        elif job in self.quarantine:
            self.quarantine.remove(job)

    def release_cloud(self, job: Job) -> None:
        """Abort the job's cloud request."""
        if job.cloud is not None and job.cloud.dispatch_id is not None:
            self._counters.cloud_attempts["aborted"] += 1
            self.abort(self.workers.dispatches[job.cloud.dispatch_id])
            job.cloud.dispatch_id = None

    def _place_suspects(self, now: float) -> None:
        """Give suspects the workers that are idle."""
        while pair := self.quarantine.next_pair():
            job, worker = pair
            self.quarantine.remove(job)
            self._send(job, worker, now)

    def _place_one(self, offers: FreeCapacity, now: float) -> bool:
        """Send the job with the most cached blocks at its worker; a job that waited long goes first."""
        if not len(offers):
            return False
        waiting: Sequence[Job] = self.queue.first(LOOKAHEAD)
        if now - waiting[0].submission.arrived_at >= HEAD_OF_LINE_AFTER_S:
            waiting = waiting[:1]
        waiting = self.forecast.startable(waiting, now)
        candidates = self._candidates(waiting, offers)
        placement = choose_worker(candidates, offers, self.prefixes)
        if placement is None:
            return False
        job = waiting[placement.index]
        if self.forecast.is_too_late(job, now):
            self.queue.remove(job)
            self._late.append(job)
            return True
        self.queue.take(job, now)
        self._send(job, offers.worker(placement.worker_id), now)
        return True

    def _candidates(self, waiting: Sequence[Job], offers: FreeCapacity) -> list[Candidate]:
        """The jobs, as candidates: the first one alone if it fits and no cache has a part of any of these prompts."""
        num_blocks_of = self.workers.num_blocks_of
        if waiting and not any(self.prefixes.num_held(job.prepared.block_hashes) for job in waiting):
            num_blocks = num_blocks_of(waiting[0])
            if offers.has_blocks(num_blocks):
                return [Candidate(waiting[0].prepared.block_hashes, num_blocks)]
        return [Candidate(job.prepared.block_hashes, num_blocks_of(job)) for job in waiting]

    def _preempt(self, now: float) -> bool:
        """Preempt dispatches in favour of a job that has no slot."""
        if self.user_jobs.is_settled:
            return False
        plan = self._preemption_plan()
        if plan is None:
            self.user_jobs.is_settled = True
            return False
        for assignment in plan.victims:
            self.workers.preempt(assignment)
            self._outbox.command(assignment.worker.identity, Abort(assignment.dispatch_id))
            self._counters.attempts["yielded"] += 1
            assignment.job.attempts.dispatch_id = None
            self.queue.reinsert(assignment.job)
        self.queue.take(plan.job, now)
        self._send(plan.job, plan.worker, now)
        return True

    def _preemption_plan(self) -> PreemptionPlan | None:
        plan, users = None, self.user_jobs
        if users.background:
            plan = plan_preemption(self.queue.urgent(LOOKAHEAD), users.background_latest_first, users)
        if plan is None and users.some_run_several:
            plan = plan_preemption(self.queue.first_jobs_of_idle_users(LOOKAHEAD), users.several_latest_first, users)
        return plan

    def _send(self, job: Job, worker: WorkerRecord, now: float) -> None:
        assignment = self.workers.assign(worker, job)
        attempts = job.attempts
        attempts.dispatch_id, attempts.worker = assignment.dispatch_id, worker.worker_id
        attempts.num_together = self.forecast.num_running
        attempts.num_started += 1
        if attempts.started_at is None:
            attempts.started_at = now
        self._outbox.command(worker.identity, local_dispatch(assignment, now))

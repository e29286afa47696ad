"""Handles the reports of workers: tokens go to the jobs' logs and streams, finishes end the jobs."""

from __future__ import annotations

from cactus_actors.protocol.errors import CactusError, PoisonJob, ServerFailure
from cactus_actors.protocol.totals import AttemptOutcome, WorkerLoss
from cactus_actors.protocol.worker_messages import Abort, Finish, Report, SequenceDelta, SequenceExtras
from cactus_actors.router.lifecycle.audit_sampler import AuditSampler
from cactus_actors.router.lifecycle.escalations import Escalations
from cactus_actors.router.lifecycle.streams import Streams
from cactus_actors.router.router_state import RouterState
from cactus_actors.router.state.job import Job
from cactus_actors.router.state.local_run import JobEnding
from cactus_actors.router.state.worker import Assignment, WorkerRecord
from cactus_actors.router.telemetry.model_counters import ModelCounters

MAX_BROKEN_LINKS = 20
"""Successive dispatches of a job that may end with the connection of their worker, without a token in between."""

_OUTCOMES: dict[WorkerLoss | None, AttemptOutcome] = {None: "returned", "reconnected": "cut"}


class WorkerReports:
    """Handles the reports of workers, and moves the jobs of lost workers to others."""

    def __init__(
        self,
        state: RouterState,
        streams: Streams,
        escalations: Escalations,
        audit_sampler: AuditSampler,
    ) -> None:
        self._jobs = state.jobs
        self._fleets = state.fleets
        self._outbox = state.outbox
        self._counters = state.counters
        self._max_attempts = state.settings.max_attempts
        self._advance = streams.advance
        self._escalations = escalations
        self._audit_sampler = audit_sampler

    def on_report(self, worker: WorkerRecord, report: Report, now: float) -> None:
        fleet = self._fleets.of_worker(worker)
        fleet.dispatcher.take_report(worker, report, now)
        is_cloud, assignments = worker.hello.kind == "cloud", worker.assignments
        for delta in report.deltas:
            assignment = assignments.get(delta.dispatch_id)
            if assignment is None:
                # An ended dispatch that its worker still runs.
                self._counters.on_late([delta])
                if delta.finish is None:
                    self._outbox.command(worker.identity, Abort(delta.dispatch_id))
            elif is_cloud:
                self._escalations.on_delta(assignment, delta, now)
            elif not self._take_next_token(assignment.job, delta, fleet.counters, now):
                self._on_local_delta(assignment, delta, fleet.counters, now)
        if is_cloud:
            self._audit_sampler.on_report(worker)
            self._escalations.pump(now)

    def on_worker_gone(self, worker: WorkerRecord | None, loss: WorkerLoss | None, now: float) -> None:
        """Continue the jobs of a worker elsewhere; `worker` is None for one that was gone before.

        A loss counts against its jobs, which may have caused it; a Goodbye (`loss` is None) or a new connection
        does not.
        """
        if worker is None:
            return
        if loss is None:
            self._counters.num_farewells += 1
        else:
            self._counters.lost_workers[loss] += 1
        assignments = self._fleets.of_worker(worker).dispatcher.forget(worker)
        for assignment in assignments:
            if assignment.is_cloud:
                self._escalations.fail(assignment, "the cloud worker was lost", now)
            else:
                self._move_on(assignment, _OUTCOMES.get(loss, "lost"), now)

    def _take_next_token(self, job: Job, delta: SequenceDelta, counters: ModelCounters, now: float) -> bool:
        """The fast path of `_on_local_delta` for a delta that holds the next token and nothing else.

        Returns False, without effect, for any other delta.
        """
        local = job.local
        log = local.log
        last_at = log.last_at
        if (
            delta.finish is not None
            or delta.extras is not None
            or delta.cached_tokens > local.cached_tokens
            or job.is_gated
            or not log.append(delta, now)
        ):
            return False
        local.num_broken_links = 0
        counters.num_generated_tokens += 1
        counters.inter_token_seconds.observe(now - last_at)
        self._advance(job, now)
        return True

    def _on_local_delta(
        self, assignment: Assignment, delta: SequenceDelta, counters: ModelCounters, now: float
    ) -> None:
        job, answer = assignment.job, assignment.job.local
        log = answer.log
        num_before, last_at = len(log.token_ids), log.last_at
        num_measured = len(log.confidence_samples.entropies) if job.is_gated else 0
        tops = delta.extras.top if delta.extras is not None else ()
        if not log.extend(
            delta.position,
            delta.token_ids,
            delta.text,
            delta.entropies,
            delta.logprobs,
            now,
            delta.cuts,
            tops,
        ):
            # Tokens are missing, so the stream of this dispatch cannot be continued.
            self._fleets.of(job).dispatcher.abort(assignment)
            self._move_on(assignment, "broken", now)
            return
        if delta.reasoning or delta.reasoning_flags or log.reasoning is not None:
            log.extend_reasoning(
                delta.position,
                len(delta.token_ids),
                delta.reasoning,
                delta.reasoning_cuts,
                delta.reasoning_flags,
            )
        num_new = len(log.token_ids) - num_before
        if num_new:
            job.local.num_broken_links = 0
            counters.num_generated_tokens += num_new
            if num_before:  # tokens of one message share the time since the last one
                counters.inter_token_seconds.observe((now - last_at) / num_new, num_new)
        if delta.extras is not None:
            _take_extras(job, delta, delta.extras)
        if delta.cached_tokens > job.local.cached_tokens:
            job.local.cached_tokens = delta.cached_tokens
        if job.is_gated and num_new and not num_before:
            self._escalations.on_first_tokens(job, now, is_complete=delta.finish is not None)
        if (
            job.is_gated
            and job.local is answer
            and (num_of_answer := len(log.confidence_samples.entropies) - num_measured)
        ):
            self._escalations.check_gates(job, num_of_answer, now)
        if job.local is not answer:  # another model has the job
            if delta.finish is not None and delta.finish.error is None:
                answer.ending = _ending_of(delta.finish)
            return
        self._advance(job, now)
        if delta.finish is not None:
            self._fleets.of(job).dispatcher.workers.release(assignment)
            job.attempts.dispatch_id = None
            self._counters.attempts["completed" if delta.finish.error is None else "failed"] += 1
            self._escalations.on_local_end(job, _ending_of(delta.finish), now)

    def _move_on(self, assignment: Assignment, outcome: AttemptOutcome, now: float) -> None:
        """Queue the job of a dispatch that ended before it again, or fail a job that lost too many workers."""
        self._counters.attempts[outcome] += 1
        job, worker = assignment.job, assignment.worker
        job.attempts.dispatch_id = None
        if outcome == "lost":
            job.attempts.lost_workers.append(worker.worker_id)
        elif outcome != "returned":
            job.local.num_broken_links += 1
        if failure := self._given_up(job):
            self._escalations.on_local_end(job, JobEnding("error", error=failure.info()), now)
            return
        self._fleets.of(job).dispatcher.return_to_queue(job)
        self._jobs.count("redispatched")

    def _given_up(self, job: Job) -> CactusError | None:
        """The error of a job that must not run again; None if it may."""
        lost, num_broken_links = job.attempts.lost_workers, job.local.num_broken_links
        if len(lost) >= self._max_attempts:
            kind = PoisonJob if job.attempts.is_suspect else ServerFailure
            return kind(
                f"job {job.job_id} was given up: {len(lost)} times the worker that ran it was lost, "
                f"the last one {lost[-1]}"
            )
        if num_broken_links >= MAX_BROKEN_LINKS:
            return ServerFailure(
                f"job {job.job_id} was given up: {num_broken_links} times in a row the connection to the "
                "worker that ran it broke before it brought a token"
            )
        return None


def _ending_of(finish: Finish) -> JobEnding:
    return JobEnding(finish.reason if finish.error is None else "error", finish.stop_match, finish.error)


def _take_extras(job: Job, delta: SequenceDelta, extras: SequenceExtras) -> None:
    if extras.prompt:
        job.local.log.extend_prompt(extras.prompt_position, extras.prompt)
    if extras.mirostat_mu is not None and delta.position + len(delta.token_ids) == len(job.local.log):
        job.local.mirostat_mu = extras.mirostat_mu
    if extras.prompt_states:
        _take_prompt_states(job, extras.prompt_states)
    if extras.embedding is not None:
        job.local.embedding, job.local.embedding_length = extras.embedding, extras.embedding_length


def _take_prompt_states(job: Job, states: dict[int, bytes]) -> None:
    probe = job.prompt_probe
    if probe is not None and probe.layer in states:
        job.local.prompt_value = probe(states[probe.layer])
    if job.prepared.policy.returns_gate_inputs:
        job.local.prompt_states = states

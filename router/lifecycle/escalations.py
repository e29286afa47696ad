"""Hands jobs of low confidence to the next model of a cascade, or to the cloud, with the local run as the fallback."""

from __future__ import annotations

from cactus_actors.protocol.confidence import Signal, entropy_confidence, signal_named
from cactus_actors.protocol.error_info import ErrorInfo
from cactus_actors.protocol.errors import CactusError, HandoffFailed
from cactus_actors.protocol.results import NOT_ALLOWED
from cactus_actors.protocol.worker_messages import Finish, SequenceDelta
from cactus_actors.router.cascade.cloud_share import CloudShare
from cactus_actors.router.cascade.confidence_gates import early_gate_failure, final_gate_failure, unavailable_decision
from cactus_actors.router.lifecycle.job_finisher import JobFinisher
from cactus_actors.router.lifecycle.streams import Streams
from cactus_actors.router.lifecycle.tiers import TierSwitch
from cactus_actors.router.router_state import RouterState
from cactus_actors.router.state.cloud_attempt import CloudAttempt, GateFailure, HandoffDecision
from cactus_actors.router.state.job import Job
from cactus_actors.router.state.local_run import JobEnding
from cactus_actors.router.state.worker import Assignment

CLOUD_WAIT_S = 10.0
DROPPED = JobEnding("cancelled")
"""The ending of a local run that stopped in favour of a cloud's answer."""
MODEL_FAILED = "model error"
"""The reason of a handoff of a job whose local model failed."""


class Escalations:
    """Applies the confidence gates, sends cloud requests, and decides which source a job's stream comes from.

    A stream is never retracted: a job is handed off only while no client has seen an item of its stream, and
    the stream is held back until the cloud has sent a chunk or failed.
    """

    def __init__(self, state: RouterState, streams: Streams, finisher: JobFinisher, tiers: TierSwitch) -> None:
        self._tiers = tiers
        settings = state.settings
        self._jobs = state.jobs
        self._fleets = state.fleets
        self._clouds = state.fleets.cloud
        self._counters = state.counters
        self._streams = streams
        self._finisher = finisher
        self._gates = settings.handoff_gates
        self._signals = {
            fleet.name: signal_named(settings.confidence_signal, fleet.served.fits) for fleet in state.fleets
        }
        self._share = CloudShare(settings.max_handoff_share)
        self._max_wait_s = settings.max_handoff_wait_s
        self._has_cloud = settings.has_cloud
        self._asked: dict[str, Job] = {}  # in the order in which they were escalated, if there is a max_wait_s
        self._waiting: dict[str, Job] = {}  # escalated, waiting for a free slot at a cloud worker

    def on_first_tokens(self, job: Job, now: float, *, is_complete: bool) -> None:
        """Apply the gate on the prompt, before those on the answer.

        The local run of a job that is handed off there stops, unless it `is_complete`, until the cloud has failed.
        """
        if not job.tiers:
            self._share.on_job()
        value = job.local.prompt_value
        if value is None or job.prepared.policy.compares_entropy or not self._gates.fails_at_prompt(value):
            return
        if self._escalate(job, GateFailure("prompt", value), now) and job.awaits_cloud and not is_complete:
            self._drop_local(job)

    def check_gates(self, job: Job, num_new: int, now: float) -> None:
        """Apply the gates to new tokens of the answer, one by one; release the stream once enough passed."""
        handoff, publication = job.handoff, job.publication
        log, threshold = job.local.log.confidence_samples, job.threshold
        num_tokens, signal = len(log.entropies), self._signal_of(job)
        for length in range(num_tokens - num_new + 1, num_tokens + 1):
            if handoff.gate_failure is not None:
                return
            gate_failure = early_gate_failure(signal, log, length, threshold, self._gates)
            if gate_failure is None:
                publication.is_released = publication.is_released or length >= self._gates.commit_tokens
            elif publication.is_released:
                self._record(job, gate_failure)
                handoff.decision = _late_decision(job)
            else:
                self._escalate(job, gate_failure, now)
                return

    def on_local_end(self, job: Job, ending: JobEnding, now: float) -> None:
        """End a job whose local run has ended, if no other model is to answer it, once it is accepted."""
        job.local.ending = ending
        if job.awaits_cloud or not job.is_accepted:
            return
        if job.cloud is not None and job.cloud.broke is not None:
            self._finisher.finish(job, JobEnding("error", error=job.cloud.broke), now)
        elif ending.error is not None:
            self._on_model_failed(job, ending.error, now)
        elif not self._escalate_at_end(job, now):
            self._finisher.finish(job, ending, now)

    def on_no_workers(self, job: Job, error: CactusError, now: float) -> None:
        """End the local run of a job that waits for workers that will not come."""
        self._fleets.of(job).dispatcher.release_local(job)
        self.on_local_end(job, JobEnding("error", error=error.info()), now)

    def has_other_model(self, job: Job) -> bool:
        """True if another model than the present one could answer a job of a cascade, of which nothing was shown."""
        if job.awaits_cloud or not self._may_change_model(job):
            return False
        may_ask_cloud = job.cloud is None and job.prepared.policy.allow_cloud
        return self._tiers.has_other(job) or (may_ask_cloud and self._refusal() is None)

    def on_delta(self, assignment: Assignment, delta: SequenceDelta, now: float) -> None:
        """Handle a chunk, or the end, of a cloud's answer."""
        job = assignment.job
        cloud = job.cloud
        assert cloud is not None
        is_first = not len(cloud.log)
        if not cloud.log.extend(delta.position, delta.token_ids, delta.text, [], [], now):
            self._clouds.abort(assignment)
            self.fail(assignment, "chunks of the cloud's answer are missing", now)
            return
        cloud.log.extend_reasoning(delta.position, len(delta.token_ids), delta.reasoning)
        if is_first and len(cloud.log):
            job.publication.restart(is_released=True)
        self._streams.advance(job, now)
        if delta.finish is not None:
            self._on_finish(assignment, delta.finish, now)
        elif job.publication.is_seen and job.local.ending is None:
            self._drop_local(job)

    def fail(self, assignment: Assignment, reason: str, now: float) -> None:
        """Return to the local answer, unless a client has seen a part of the cloud's answer."""
        job = assignment.job
        assert job.cloud is not None
        self._counters.cloud_attempts["failed"] += 1
        self._clouds.workers.release(assignment)
        job.cloud.dispatch_id = None
        if job.publication.is_seen:
            job.handoff.decision = HandoffDecision("failed", reason)
            job.cloud.broke = HandoffFailed(f"the cloud's answer broke off: {reason}").info()
            self._complete_locally(job, now)
        else:
            self._give_up(job, HandoffDecision("failed", reason), now)

    def pump(self, now: float) -> None:
        """Send waiting jobs to free cloud slots; give up jobs that cannot or should not wait."""
        self._give_up_late(now)
        while self._waiting:
            job_id, job = next(iter(self._waiting.items()))  # the job that has waited longest
            if self._jobs.is_live(job) and not self._stop_waiting(job, now):
                return
            self._waiting.pop(job_id, None)

    def _may_change_model(self, job: Job) -> bool:
        return job.submission.is_cascade and not job.publication.is_seen

    def _on_model_failed(self, job: Job, error: ErrorInfo, now: float) -> None:
        """Have the next model answer, or the cloud if that was not asked before; else end the job."""
        may_go_on = self._may_change_model(job) and job.may_be_handed_off and job.cloud is None
        if not (may_go_on and self._escalate(job, error, now)):
            self._end_with_error(job, error, now)

    def _end_with_error(self, job: Job, error: ErrorInfo, now: float) -> None:
        """Return to the answer of an earlier model, or end a job that has none with the error of the present one."""
        model = job.submission.model
        if not self._may_change_model(job) or not self._tiers.go_back(job, error, now):
            self._finisher.finish(job, JobEnding("error", error=error), now)
            return
        if job.handoff.decision is None or not job.prepared.policy.allow_cloud:
            job.handoff.decision = HandoffDecision("failed", f"{model}: {error.message}")
        if job.local.ending is not None:
            self._finisher.finish(job, job.local.ending, now)
        else:
            self._streams.advance(job, now)

    def _escalate_at_end(self, job: Job, now: float) -> bool:
        """Apply the last gate to a local run without an error; True if the job now waits for another model."""
        if not job.is_gated or job.cloud is not None:
            return False
        gate_failure = final_gate_failure(self._signal_of(job), job.local.log.confidence_samples, job.threshold)
        if gate_failure is None:
            return False
        if job.publication.is_seen or not job.may_be_handed_off:
            if job.handoff.gate_failure is None:
                self._record(job, gate_failure)
            job.handoff.decision = job.handoff.decision or _late_decision(job)
            return False
        return self._escalate(job, gate_failure, now)

    def _signal_of(self, job: Job) -> Signal:
        return entropy_confidence if job.prepared.policy.compares_entropy else self._signals[job.submission.model]

    def _give_up_late(self, now: float) -> None:
        """Return jobs to their local answers after max_handoff_wait_s, unless a client has seen the cloud's in part."""
        while self._asked:
            job_id, job = next(iter(self._asked.items()))
            assert job.cloud is not None
            assert self._max_wait_s is not None
            is_awaited = self._jobs.is_live(job) and job.awaits_cloud and not job.publication.is_seen
            if is_awaited and now - job.cloud.requested_at < self._max_wait_s:
                return
            del self._asked[job_id]
            if is_awaited:
                self._waiting.pop(job_id, None)
                self._clouds.release_cloud(job)
                reason = f"no answer of the cloud within {self._max_wait_s:g} s"
                self._give_up(job, HandoffDecision("failed", reason), now)

    def _stop_waiting(self, job: Job, now: float) -> bool:
        """Send a job to the cloud or give it up; False if it must wait."""
        assert job.cloud is not None
        decision = self._refusal()
        if decision is None and now - job.cloud.requested_at > CLOUD_WAIT_S:
            decision = HandoffDecision("suppressed", f"no cloud slot came free in {CLOUD_WAIT_S:.0f} s")
        if decision is not None:
            self._give_up(job, decision, now)
        elif (worker := self._clouds.free_cloud()) is not None:
            job.cloud.dispatch_id = self._clouds.ask_cloud(job, worker, now)
            job.cloud.log.model = worker.hello.model
            if job.submission.is_cascade:
                self._fleets.of(job).counters.num_handed_on += 1
        else:
            return False
        return True

    def _refusal(self) -> HandoffDecision | None:
        workers = self._clouds.workers.cloud.values()
        self._has_cloud = self._has_cloud or bool(workers)  # a key may be stored at any time
        return unavailable_decision((worker.report.unavailable for worker in workers), has_cloud=self._has_cloud)

    def _escalate(self, job: Job, failure: GateFailure | ErrorInfo, now: float) -> bool:
        """Hand a job on to the next model, or ask the cloud; False if its local answer, or error, stays."""
        if isinstance(failure, GateFailure):
            self._record(job, failure)
        if self._tiers.hand_on(job, failure, now):
            return True
        if not len(job.local.log):
            self._share.on_job()
        # Every handoff passes here, whatever its reason.
        decision = self._refusal() if job.prepared.policy.allow_cloud else _late_decision(job)
        if decision is None and self._share.is_spent:
            decision = HandoffDecision("suppressed", "share spent")
        if decision is not None:
            job.handoff.decision = decision
            job.publication.is_released = True
            return False
        self._share.spend()
        job.cloud = CloudAttempt(requested_at=now)
        job.publication.restart(is_released=False)
        self._waiting[job.job_id] = job
        if self._max_wait_s is not None:
            self._asked[job.job_id] = job
        self.pump(now)
        return True

    def _record(self, job: Job, gate_failure: GateFailure) -> None:
        if job.handoff.gate_failure is None:
            self._counters.failed_gates[gate_failure.gate] += 1
        job.handoff.gate_failure = gate_failure

    def _on_finish(self, assignment: Assignment, finish: Finish, now: float) -> None:
        job, gate_failure = assignment.job, assignment.job.handoff.gate_failure
        assert job.cloud is not None
        job.cloud.finish = finish
        if finish.is_refused and finish.error is not None:
            self._on_refusal(assignment, finish.error.message.rpartition(": ")[2], now)
        elif finish.error is not None or finish.reason == "error":
            self.fail(assignment, finish.error.message if finish.error else "the cloud failed", now)
        elif not job.cloud.log.text:
            self.fail(assignment, "the cloud's answer was empty", now)
        else:
            self._counters.cloud_attempts["completed"] += 1
            self._clouds.workers.release(assignment)
            job.cloud.dispatch_id = None
            latency_ms = round((now - job.cloud.requested_at) * 1000.0, 3)
            reason = MODEL_FAILED if gate_failure is None else gate_failure.gate
            job.handoff.decision = HandoffDecision("completed", reason, finish.provider, latency_ms)
            job.attempts.worker = assignment.worker.worker_id
            self._finisher.finish(job, JobEnding(finish.reason, finish.stop_match), now)

    def _on_refusal(self, assignment: Assignment, reason: str, now: float) -> None:
        """Return to the local answer: a budget of the job's owner did not allow the cloud request."""
        self._share.refund()
        self._clouds.release_cloud(assignment.job)
        self._give_up(assignment.job, HandoffDecision("suppressed", reason), now)

    def _complete_locally(self, job: Job, now: float) -> None:
        """Continue a local run that was dropped for the cloud's answer, or end the job if the run is complete."""
        assert job.cloud is not None
        assert job.cloud.broke is not None
        if job.local.ending == DROPPED:
            job.local.ending = None
            self._fleets.of(job).dispatcher.return_to_queue(job)
        elif job.local.ending is not None:
            self._finisher.finish(job, JobEnding("error", error=job.cloud.broke), now)

    def _give_up(self, job: Job, decision: HandoffDecision, now: float) -> None:
        assert job.cloud is not None
        job.cloud.failed = True
        job.handoff.decision = decision
        job.publication.restart(is_released=True)
        if job.local.ending is not None and job.local.ending.error is not None:
            self._end_with_error(job, job.local.ending.error, now)
            return
        if job.local.ending is not None and job.local.ending != DROPPED:
            self._finisher.finish(job, job.local.ending, now)
            return
        if job.local.ending is not None:
            job.local.ending = None
            self._fleets.of(job).dispatcher.return_to_queue(job)
        self._streams.advance(job, now)

    def _drop_local(self, job: Job) -> None:
        """Stop the local run: a client has seen a chunk of the cloud's answer, or the prompt was handed off."""
        self._fleets.of(job).dispatcher.release_local(job)
        job.local.ending = DROPPED


def _late_decision(job: Job) -> HandoffDecision:
    if not job.may_be_handed_off:
        return HandoffDecision("suppressed", job.prepared.cloud_refusal or NOT_ALLOWED)
    return HandoffDecision("recommended", "the stream was committed before the confidence fell")

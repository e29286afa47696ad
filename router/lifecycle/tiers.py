"""Hands a job of a cascade on to its next model, and back to an earlier one."""

from __future__ import annotations

import msgspec

from cactus_actors.protocol.confidence import signal_named
from cactus_actors.protocol.error_info import ErrorInfo
from cactus_actors.protocol.results import HandoffTier, Result
from cactus_actors.router.lifecycle.handoff_result import local_usage
from cactus_actors.router.lifecycle.job_factory import is_judged_by_prompt, local_answer, require_threshold
from cactus_actors.router.lifecycle.journal_writer import JournalWriter
from cactus_actors.router.router_state import RouterState
from cactus_actors.router.scheduling.model_fleet import ModelFleet
from cactus_actors.router.state.cloud_attempt import GateFailure
from cactus_actors.router.state.job import Job
from cactus_actors.router.state.left_tier import LeftTier


class TierSwitch:
    """Moves a job of which no client has seen an item from the fleet of one model to that of another.

    A job that fails a gate, or whose model fails, begins anew with the next model, and that model's prompt. The answer
    that failed a gate is kept: the job returns to it if all later models fail. The result has a record of each model.
    """

    def __init__(self, state: RouterState, journal_writer: JournalWriter) -> None:
        self._state = state
        self._journal_writer = journal_writer
        self._fleets = state.fleets
        self._signal = state.settings.confidence_signal
        self._gates = state.settings.handoff_gates

    def has_other(self, job: Job) -> bool:
        """True if another model of the service could answer."""
        has_later = any(not self._fleets.named(tier.model).is_switched_off for tier in job.tiers)
        return has_later or any(map(self._is_usable, job.left))

    def hand_on(self, job: Job, failure: GateFailure | ErrorInfo, now: float) -> bool:
        """Move a job to its next model that has workers, or will have; False if there is none."""
        while job.tiers:
            tier = job.tiers.pop(0)
            fleet = self._fleets.named(tier.model)
            if fleet.is_switched_off:
                continue
            if isinstance(failure, GateFailure):
                job.left.append(_left(job, failure))
            self._leave(job, failure, now).counters.num_handed_on += 1
            work = fleet.dispatcher.forecast.work_of_prepared(tier.prepared)
            job.begin_tier(tier, local_answer(fleet, tier.prepared, is_cascade=True), work, now)
            require_threshold(self._state, job)
            job.prompt_probe = fleet.served.prompt_probe if is_judged_by_prompt(job) else None
            self._journal_writer.moved(job)
            fleet.dispatcher.add(job)
            return True
        return False

    def go_back(self, job: Job, error: ErrorInfo, now: float) -> bool:
        """Return a job whose model failed to the last answer that it has; an unfinished one is continued.

        False if it has none, or only answers of models that are switched off.
        """
        while job.left:
            tier = job.left.pop()
            if not self._is_usable(tier):
                continue
            self._leave(job, error, now)
            job.return_to(tier, now)
            self._journal_writer.moved(job)
            if tier.answer.ending is None:
                self._fleets.of(job).dispatcher.return_to_queue(job)
            return True
        return False

    def with_path(self, job: Job, result: Result, now: float) -> Result:
        """The result of a job of a cascade, with the path that it took."""
        cloud, ending = job.cloud, job.local.ending
        failure = ending.error if ending is not None and ending.error is not None else job.handoff.gate_failure
        path = [*job.passed, self._tier(job, failure, now if cloud is None else cloud.requested_at)]
        if result.cloud_handoff and cloud is not None:
            latency_ms = round((now - cloud.requested_at) * 1000.0, 3)
            path.append(HandoffTier(model=result.model, latency_ms=latency_ms, usage=result.usage))
        handoff = msgspec.structs.replace(result.handoff, path=path, model=result.model)
        return msgspec.structs.replace(result, handoff=handoff)

    def _is_usable(self, tier: LeftTier) -> bool:
        """True for an answer that is whole, or can be continued."""
        return tier.answer.ending is not None or not self._fleets.named(tier.model).is_switched_off

    def _leave(self, job: Job, failure: GateFailure | ErrorInfo, now: float) -> ModelFleet:
        fleet = self._fleets.of(job)
        fleet.dispatcher.release_local(job)
        fleet.on_job_left()
        job.passed.append(self._tier(job, failure, now))
        return fleet

    def _tier(self, job: Job, failure: GateFailure | ErrorInfo | None, now: float) -> HandoffTier:
        """The record of the present model, with the gate that it failed or its error."""
        latency_ms = round((now - job.tier_began_at) * 1000.0, 3)
        tier = HandoffTier(
            model=job.submission.model, threshold=job.threshold, latency_ms=latency_ms, usage=local_usage(job)
        )
        match failure:
            case GateFailure(gate, confidence):
                threshold = self._gates.prompt_threshold if gate == "prompt" else None
                threshold = tier.threshold if threshold is None else threshold
                return msgspec.structs.replace(tier, gate=gate, confidence=confidence, threshold=threshold)
            case ErrorInfo():
                return msgspec.structs.replace(tier, error=failure)
        return msgspec.structs.replace(tier, confidence=self._confidence(job))

    def _confidence(self, job: Job) -> float | None:
        """The signal of the whole answer."""
        samples = job.local.log.confidence_samples
        signal = signal_named(self._signal, self._fleets.of(job).served.fits)
        return signal(samples.entropies, samples.logprobs) if samples.entropies else None


def _left(job: Job, failure: GateFailure) -> LeftTier:
    return LeftTier(job.submission.model, job.prepared, job.local, failure, job.threshold, job.virtual_start)

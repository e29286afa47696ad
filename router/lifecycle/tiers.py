"""Hands a job of a cascade on to its next model."""

from __future__ import annotations

import msgspec

from cactus_actors.protocol.confidence import signal_named
from cactus_actors.protocol.results import HandoffTier, Result
from cactus_actors.router.lifecycle.handoff_result import local_usage
from cactus_actors.router.lifecycle.job_factory import is_judged_by_prompt, local_answer, require_threshold
from cactus_actors.router.router_state import RouterState
from cactus_actors.router.state.cloud_attempt import GateFailure
from cactus_actors.router.state.job import Job


class TierSwitch:
    """A job that fails a gate moves to the queue of the next model, where it begins anew with that model's prompt.

    Nothing of it was shown to a client before. The answer so far is dropped, and the record of it kept for the result.
    """

    def __init__(self, state: RouterState) -> None:
        self._state = state
        self._fleets = state.fleets
        self._signal = state.settings.confidence_signal
        self._gates = state.settings.handoff_gates

    def hand_on(self, job: Job, gate_failure: GateFailure, now: float) -> bool:
        """Move a job to its next model that has workers, or will have; False if there is none."""
        while job.tiers:
            tier = job.tiers.pop(0)
            fleet = self._fleets.named(tier.model)
            if fleet.is_switched_off:
                continue
            left = self._fleets.of(job)
            left.dispatcher.release_local(job)
            left.idle_since = None
            left.counters.num_handed_on += 1
            job.passed.append(self._tier(job, gate_failure.confidence, gate_failure.gate, now))
            job.submission = msgspec.structs.replace(job.submission, model=fleet.name)
            work = fleet.dispatcher.forecast.work_of_prepared(tier.prepared)
            job.begin_tier(tier.prepared, local_answer(fleet, tier.prepared, is_cascade=True), work, now)
            require_threshold(self._state, job)
            job.prompt_probe = fleet.served.prompt_probe if is_judged_by_prompt(job) else None
            fleet.dispatcher.queue.add(job)
            return True
        return False

    def with_path(self, job: Job, result: Result, now: float) -> Result:
        """The result of a job of a cascade, with the path that it took."""
        failure, cloud, samples = job.handoff.gate_failure, job.cloud, job.local.log.confidence_samples
        confidence, gate = (None, None) if failure is None else (failure.confidence, failure.gate)
        if failure is None and samples.entropies:
            signal = signal_named(self._signal, self._fleets.of(job).served.fits)
            confidence = signal(samples.entropies, samples.logprobs)
        path = [*job.passed, self._tier(job, confidence, gate, now if cloud is None else cloud.requested_at)]
        if result.cloud_handoff and cloud is not None:
            latency_ms = round((now - cloud.requested_at) * 1000.0, 3)
            path.append(HandoffTier(model=result.model, latency_ms=latency_ms, usage=result.usage))
        handoff = msgspec.structs.replace(result.handoff, path=path, model=result.model)
        return msgspec.structs.replace(result, handoff=handoff)

    def _tier(self, job: Job, confidence: float | None, gate: str | None, now: float) -> HandoffTier:
        threshold = self._gates.prompt_threshold if gate == "prompt" else None
        return HandoffTier(
            model=job.submission.model,
            confidence=confidence,
            threshold=job.threshold if threshold is None else threshold,
            gate=gate,
            latency_ms=round((now - job.tier_began_at) * 1000.0, 3),
            usage=local_usage(job),
        )

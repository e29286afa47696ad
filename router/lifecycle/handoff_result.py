"""The part of a result about the cloud: the outcome of a handoff, and the usage of cloud and local model."""

from __future__ import annotations

from typing import NamedTuple

import msgspec
from msgspec import UNSET

from cactus_actors.protocol.confidence import (
    SignalFits,
    SignalName,
    entropy_confidence,
    min_token_prob,
    signal_named,
)
from cactus_actors.protocol.handoff_gates import ConfidenceSamples, HandoffGates
from cactus_actors.protocol.results import GateInputs, Handoff, Measures, Usage
from cactus_actors.router.cascade.confidence_gates import confidence_of
from cactus_actors.router.state.cloud_attempt import CloudAttempt
from cactus_actors.router.state.job import Job
from cactus_actors.router.state.local_run import JobEnding, LocalAnswer


class _Samples(NamedTuple):
    """Samples as lists: the measures read each several times, and an array makes a number anew at each reading."""

    entropies: list[float]
    logprobs: list[float]

    @classmethod
    def of(cls, samples: ConfidenceSamples) -> _Samples:
        return cls(list(samples.entropies), list(samples.logprobs))


def handoff_of(
    job: Job, ending: JobEnding, signal: SignalName, gates: HandoffGates, local_measures: Measures | None
) -> Handoff:
    """The decision, its reason and the cloud's cost; with the local answer if a cloud's answer replaced it."""
    threshold = job.threshold
    signal = "entropy" if job.prepared.policy.compares_entropy else signal
    decision, gate_failure = job.handoff.decision, job.handoff.gate_failure
    if decision is None:
        return Handoff(threshold=threshold, signal=signal)
    handoff = Handoff(
        status=decision.status,
        reason=decision.reason,
        confidence=gate_failure.confidence if gate_failure else None,
        threshold=threshold,
        provider=decision.provider,
        latency_ms=decision.latency_ms,
        signal=signal,
    )
    if gate_failure is not None and gate_failure.gate == "prompt" and gates.prompt_threshold is not None:
        handoff = msgspec.structs.replace(handoff, signal="prompt", threshold=gates.prompt_threshold)
    return handoff if job.cloud is None else _with_answers(handoff, job, job.cloud, ending, local_measures)


def local_usage(job: Job) -> Usage:
    """The tokens that local workers computed."""
    log = job.local.log
    return Usage(
        prompt_tokens=len(job.prepared.prompt_ids),
        completion_tokens=len(log),
        cached_tokens=job.local.cached_tokens,
        reasoning_tokens=0 if log.reasoning is None else log.reasoning.num_tokens,
    )


def cloud_usage(job: Job) -> Usage:
    """The cloud's own counts; without them the local count of prompt tokens, and one token per chunk."""
    assert job.cloud is not None
    finish = job.cloud.finish
    if finish is not None and finish.usage is not None:
        return finish.usage
    return Usage(prompt_tokens=len(job.prepared.prompt_ids), completion_tokens=len(job.cloud.log))


def measures_of(local: LocalAnswer, fits: SignalFits, gates: HandoffGates) -> Measures | None:
    """The measures of a local answer, without its `gate_inputs`; None if nothing was generated."""
    samples = _Samples.of(local.log.confidence_samples)
    entropies, logprobs = samples
    if not entropies or not logprobs:
        return None
    probe, has_probability = fits.probe, fits.probability is not None
    return Measures(
        mean_logprob=sum(logprobs) / len(logprobs),
        min_token_prob=min_token_prob(entropies, logprobs),
        entropy_mean=sum(entropies) / len(entropies),
        entropy_max=max(entropies),
        probe=probe(entropies, logprobs) if probe is not None else None,
        entropy_at_gates=gates.lowest(entropy_confidence, samples),
        probe_at_gates=gates.lowest(probe, samples) if probe is not None else None,
        probability=gates.lowest(signal_named("probability", fits), samples) if has_probability else None,
        prompt=local.prompt_value,
    )


def with_gate_inputs(
    measures: Measures, local: LocalAnswer, fits: SignalFits, gates: HandoffGates, fingerprint: str
) -> Measures:
    """The measures with what the gates of the service see, for a model with this fingerprint."""
    log = local.log.confidence_samples
    inputs = GateInputs(
        entropies=list(log.entropies),
        logprobs=list(log.logprobs),
        first_gate_tokens=gates.first_tokens,
        commit_tokens=gates.commit_tokens,
        fits=fits,
        prompt_threshold=gates.prompt_threshold,
        prompt=local.prompt_value,
        prompt_states=local.prompt_states,
        fingerprint=fingerprint,
    )
    return msgspec.structs.replace(measures, gate_inputs=inputs)


def _with_answers(
    handoff: Handoff, job: Job, cloud: CloudAttempt, ending: JobEnding, local_measures: Measures | None
) -> Handoff:
    finish, local = cloud.finish, job.local
    if finish is not None and finish.cost is not None:
        handoff = msgspec.structs.replace(handoff, cost=finish.cost, currency=finish.currency or UNSET)
    if job.stream is local.log:
        usage = UNSET if finish is None or finish.usage is None else finish.usage
        return msgspec.structs.replace(handoff, cloud_usage=usage)
    handoff = msgspec.structs.replace(
        handoff,
        model=cloud.log.model or UNSET,
        usage_is_estimated=finish is None or finish.usage is None or finish.is_estimated,
        local_model=job.prepared.model,
        local_usage=local_usage(job),
        local_confidence=confidence_of(local.log.confidence_samples.entropies),
        local_measures=local_measures,
    )
    if ending.error is None:
        return handoff
    reason = local.ending.reason if local.ending is not None else "cancelled"
    return msgspec.structs.replace(handoff, local_text=local.log.text, local_finish_reason=reason)

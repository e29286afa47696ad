"""Decides by confidence whether a job is handed off to the cloud. Pure functions.

Confidence is a signal of `protocol/confidence.py` over the tokens of a gate (`protocol/handoff_gates.py`). A job is
handed off when it is below the job's `cloud_handoff_threshold`; 0 is never.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cactus_actors.protocol.confidence import Signal
from cactus_actors.protocol.handoff_gates import ConfidenceSamples, HandoffGates
from cactus_actors.router.state.cloud_attempt import GateFailure, HandoffDecision

NO_KEY = "no key"
NO_WORKER = "no cloud worker is connected"


def confidence_of(entropies: Sequence[float]) -> float | None:
    """1 - mean of normalised entropies, or None of nothing."""
    return 1.0 - sum(entropies) / len(entropies) if entropies else None


def early_gate_failure(
    signal: Signal, log: ConfidenceSamples, count: int, threshold: float, gates: HandoffGates
) -> GateFailure | None:
    """The gate that the first `count` tokens fail, of which all but the last passed, or None."""
    confidence = gates.value_after(count, signal, log)
    if confidence is None or confidence >= threshold:
        return None
    if count == gates.first_tokens:
        return GateFailure("first token" if count == 1 else "first tokens", confidence)
    return GateFailure("rolling window", confidence)


def final_gate_failure(signal: Signal, log: ConfidenceSamples, threshold: float) -> GateFailure | None:
    """The gate at the end of generation, over all tokens."""
    if not log.entropies:
        return None
    confidence = signal(log.entropies, log.logprobs)
    return GateFailure("end of generation", confidence) if confidence < threshold else None


def unavailable_decision(unavailable: Iterable[str | None], *, has_cloud: bool = True) -> HandoffDecision | None:
    """The reason why no cloud worker is available, or None if one is; `unavailable` has each one's reason.

    Without `has_cloud` no key is stored.
    """
    reasons = list(unavailable)
    if not reasons:
        return HandoffDecision("recommended", NO_WORKER if has_cloud else NO_KEY)
    if None in reasons:
        return None
    closed = [reason for reason in reasons if reason and reason != NO_KEY]
    return HandoffDecision("suppressed", closed[0]) if closed else HandoffDecision("recommended", NO_KEY)

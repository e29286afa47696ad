"""Decides by confidence whether a job is handed off to the cloud. Pure functions.

Confidence is a signal of `protocol/confidence.py`, by default 1 - mean normalised entropy, over the first
token, over a rolling window, or over everything generated. A job is handed off when it is below the job's
`cloud_handoff_threshold`; 0 is never.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cactus_actors.protocol.confidence import Signal
from cactus_actors.router.state.cloud_attempt import GateFailure, HandoffDecision
from cactus_actors.router.state.reasoning_log import ConfidenceSamples

WINDOW = 10
NO_KEY = "no key"


def confidence_of(entropies: Sequence[float]) -> float | None:
    """1 - mean of normalised entropies, or None of nothing."""
    return 1.0 - sum(entropies) / len(entropies) if entropies else None


def early_gate_failure(
    signal: Signal, log: ConfidenceSamples, count: int, threshold: float, commit_tokens: int
) -> GateFailure | None:
    """The gate that the first `count` tokens fail, of which all but the last passed, or None.

    The first token is a gate, and so is every full window; the window is as short as `commit_tokens` if that
    is less than WINDOW, because that many tokens decide.
    """
    window = max(1, min(WINDOW, commit_tokens))
    if 1 < count < window:
        return None
    recent = slice(max(0, count - WINDOW), count)
    confidence = signal(log.entropies[recent], log.logprobs[recent])
    if confidence >= threshold:
        return None
    return GateFailure("first token" if count == 1 else "rolling window", confidence)


def lowest_at_gates(signal: Signal, log: ConfidenceSamples, commit_tokens: int) -> float:
    """The lowest value of the signal at the gates that may hand off, of at least one token.

    These are the early gates of the first `commit_tokens` tokens, and the one at the end.
    """
    num_tokens = len(log.entropies)
    lowest = min(signal(log.entropies, log.logprobs), signal(log.entropies[:1], log.logprobs[:1]))
    for count in range(max(2, min(WINDOW, commit_tokens)), min(commit_tokens, num_tokens) + 1):
        recent = slice(max(0, count - WINDOW), count)
        lowest = min(lowest, signal(log.entropies[recent], log.logprobs[recent]))
    return lowest


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
        return HandoffDecision("recommended", "no cloud worker is connected" if has_cloud else NO_KEY)
    if None in reasons:
        return None
    closed = [reason for reason in reasons if reason and reason != NO_KEY]
    return HandoffDecision("suppressed", closed[0]) if closed else HandoffDecision("recommended", NO_KEY)

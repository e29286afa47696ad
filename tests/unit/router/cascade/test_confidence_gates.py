"""Confidence gates: the first token, a rolling window and the end of an answer."""

from __future__ import annotations

import pytest

from cactus_actors.protocol.confidence import entropy_confidence
from cactus_actors.protocol.handoff_gates import DEFAULT_GATES, HandoffGates
from cactus_actors.router.cascade.confidence_gates import (
    NO_KEY,
    early_gate_failure,
    final_gate_failure,
    unavailable_decision,
)
from cactus_actors.router.state.cloud_attempt import GateFailure, HandoffDecision
from cactus_actors.router.state.token_log import TokenLog
from tests.support.router.cloud_jobs import THRESHOLD


def log_of(entropies: list[float], logprobs: list[float] | None = None) -> TokenLog:
    log, count = TokenLog(), len(entropies)
    log.extend(0, [97] * count, "x" * count, entropies, logprobs or [-1.0] * count, 0.0)
    return log


def early(
    entropies: list[float], threshold: float = THRESHOLD, gates: HandoffGates = DEFAULT_GATES
) -> GateFailure | None:
    """The decision after the last of these tokens, if all others have passed."""
    return early_gate_failure(entropy_confidence, log_of(entropies), len(entropies), threshold, gates)


def end(entropies: list[float], threshold: float = THRESHOLD) -> GateFailure | None:
    return final_gate_failure(entropy_confidence, log_of(entropies), threshold)


def test_the_first_token_has_a_gate() -> None:
    assert early([0.6]) == GateFailure("first token", 0.4)
    assert early([0.5]) is None
    assert early([0.1, 0.9]) is None


def test_the_rolling_window_covers_ten_tokens() -> None:
    nine = [0.1, *[0.9] * 8]
    assert early(nine) is None
    assert early([*nine, 0.9]) == GateFailure("rolling window", pytest.approx(0.18))
    assert early([0.9, *[0.1] * 10]) is None  # the first one has left the window


def test_the_gate_at_the_end_covers_all_tokens() -> None:
    assert end([]) is None
    assert end([0.4, 0.4]) is None
    assert end([0.4, 0.8]) == GateFailure("end of generation", pytest.approx(0.4))


def test_a_threshold_of_zero_never_fails() -> None:
    assert early([1.0] * 20, 0.0) is None
    assert end([1.0], 0.0) is None


def test_an_unavailable_cloud_has_a_reason() -> None:
    assert unavailable_decision([]) == HandoffDecision("recommended", "no cloud worker is connected")
    assert unavailable_decision([], has_cloud=False) == HandoffDecision("recommended", NO_KEY)
    assert unavailable_decision([NO_KEY]) == HandoffDecision("recommended", NO_KEY)
    assert unavailable_decision([NO_KEY, "breaker open"]) == HandoffDecision("suppressed", "breaker open")
    assert unavailable_decision(["breaker open", None]) is None

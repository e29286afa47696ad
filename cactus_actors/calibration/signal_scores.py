"""The confidence scores of an answer, from its result."""

from __future__ import annotations

import math

from cactus_actors.protocol.confidence import SignalName, features_of
from cactus_actors.protocol.results import Measures, Result

SIGNALS: tuple[SignalName, ...] = ("entropy", "min_token_prob", "answer_prob", "probe", "probability")
"""Signals that a service can use; the other scores are only measures."""


def scores_of(result: Result) -> dict[str, float]:
    """Scores by name; each should be high for right answers.

    The score of a signal is its lowest value at the gates: the service keeps the answer if this reaches the threshold.
    """
    measures = result.measures or Measures()
    num_tokens = result.usage.completion_tokens - result.usage.reasoning_tokens
    scores = {
        "entropy": _at_gates(measures.entropy_at_gates, 1.0 - measures.entropy_mean),
        "min_token_prob": measures.min_token_prob,
        "mean_token_prob": math.exp(measures.mean_logprob),
        "answer_prob": math.exp(measures.mean_logprob * num_tokens),
        "entropy_mean": 1.0 - measures.entropy_mean,
        "entropy_max": 1.0 - measures.entropy_max,
    }
    if measures.probe is not None:
        scores["probe"] = _at_gates(measures.probe_at_gates, measures.probe)
    if measures.probability is not None:
        scores["probability"] = measures.probability
    return scores


def features_of_result(result: Result) -> tuple[float, ...]:
    """The `probe_features` of an answer."""
    measures = result.measures or Measures()
    return features_of(
        measures.entropy_mean,
        measures.entropy_max,
        measures.mean_logprob,
        math.log(max(measures.min_token_prob, 1e-300)),
        max(1, result.usage.completion_tokens),
    )


def _at_gates(value: float | None, at_end: float) -> float:
    """The value at the gates, or at the end in results of a service that does not report it."""
    return at_end if value is None else value

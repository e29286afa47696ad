"""The confidence scores of an answer, from its result."""

from __future__ import annotations

import math
from typing import get_args

from msgspec import UNSET

from cactus_actors.protocol.confidence import (
    Signal,
    SignalFits,
    SignalName,
    features_of,
    probe_features,
    signal_named,
)
from cactus_actors.protocol.handoff_gates import HandoffGates
from cactus_actors.protocol.results import GateInputs, Measures, Result

SIGNALS: tuple[SignalName, ...] = get_args(SignalName)
"""Signals that a service can use; the other scores are only measures."""
PROMPT = "prompt"
"""The value of the gate on the prompt, which has a threshold of its own."""


def scores_of(result: Result, gates: HandoffGates | None = None) -> dict[str, float]:
    """Scores by name; each should be high for right answers.

    The score of a signal is its lowest value at the gates, by default those of the service: a service keeps the answer
    if this reaches the threshold.
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
    if (inputs := gate_inputs_of(result)) is not None:
        gates = gates or gates_of(inputs)
        signals = signals_of(inputs.fits).items()
        scores |= {name: gates.lowest(signal, inputs, inputs.prompt) for name, signal in signals}
    if measures.prompt is not None:
        scores[PROMPT] = measures.prompt
    return scores


def gate_inputs_of(result: Result) -> GateInputs | None:
    """What the gates of the service saw; None if it was not requested, or of an answer without tokens."""
    inputs = UNSET if result.measures is None else result.measures.gate_inputs
    return None if inputs is UNSET else inputs


def gates_of(inputs: GateInputs) -> HandoffGates:
    """The gates of the service."""
    return HandoffGates(inputs.first_gate_tokens, inputs.commit_tokens, inputs.prompt_threshold)


def signals_of(fits: SignalFits) -> dict[SignalName, Signal]:
    """The signals that a service with these fits can use."""
    has_fit = {"probe": fits.probe is not None, "probability": fits.probability is not None}
    if fits.probe is None and fits.probability is not None and fits.probability.signal == "probe":
        has_fit["probability"] = False
    return {name: signal_named(name, fits) for name in SIGNALS if has_fit.get(name, True)}


def features_at_gates(result: Result) -> list[tuple[float, ...]]:
    """The `probe_features` at each gate of the service, the last of them of the whole answer.

    Only the latter if the service did not report what its gates saw.
    """
    if (inputs := gate_inputs_of(result)) is not None:
        judged = gates_of(inputs).judged(len(inputs.entropies))
        return [probe_features(inputs.entropies[tokens], inputs.logprobs[tokens]) for tokens in judged]
    measures = result.measures or Measures()
    whole = features_of(
        measures.entropy_mean,
        measures.entropy_max,
        measures.mean_logprob,
        math.log(max(measures.min_token_prob, 1e-300)),
        max(1, result.usage.completion_tokens),
    )
    return [whole]


def _at_gates(value: float | None, at_end: float) -> float:
    """The value at the gates, or at the end in results of a service that does not report it."""
    return at_end if value is None else value

"""The scores of judged answers for a bound: of one signal, at the gates of the service."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from cactus_actors.calibration.examples import ExampleOutcome
from cactus_actors.calibration.signal_scores import SIGNALS, gate_inputs_of, gates_of, scores_of
from cactus_actors.protocol.confidence import SignalName
from cactus_actors.protocol.errors import InvalidRequest
from cactus_actors.protocol.handoff_gates import HandoffGates
from cactus_actors.protocol.results import Result


@dataclass(frozen=True, slots=True)
class Bound:
    """The target: at most `max_error` of the kept answers are wrong, at a `confidence`; by the service's signal and
    first gate unless `signal` and `first_gate` name others.
    """

    max_error: float
    confidence: float
    signal: SignalName | None = None
    first_gate: int | None = None


class BoundScores(NamedTuple):
    """The signal, the gates, None if the service did not report what they saw, and the score of each answer."""

    signal: SignalName
    gates: HandoffGates | None
    scores: list[float]


def scores_for_bound(outcomes: Sequence[ExampleOutcome], bound: Bound) -> BoundScores:
    """Raises InvalidRequest if no example was answered, or if the model that was asked does not have the signal.

    An example without an answer is one that the service hands off: its score is NaN.
    """
    results = [outcome.result for outcome in outcomes if outcome.result is not None]
    if not results:
        raise InvalidRequest("no example was answered", param="examples")
    signal = bound.signal or results[0].handoff.signal
    if signal not in SIGNALS or not any(signal in scores_of(result) for result in results):
        raise InvalidRequest(f"the model {results[0].model} has no signal {signal}", param="signal")
    gates = _gates(results, bound)
    return BoundScores(signal, gates, [_score(outcome, signal, gates) for outcome in outcomes])


def _gates(results: Sequence[Result], bound: Bound) -> HandoffGates | None:
    """The gates of the service, with another first one if the bound names it; None if they are not known."""
    inputs = next((seen for result in results if (seen := gate_inputs_of(result)) is not None), None)
    if inputs is None:
        if bound.first_gate is not None:
            raise InvalidRequest("the service does not report what its gates see", param="first_gate")
        return None
    own = gates_of(inputs)
    return own if bound.first_gate is None else dataclasses.replace(own, first_tokens=bound.first_gate)


def _score(outcome: ExampleOutcome, signal: SignalName, gates: HandoffGates | None) -> float:
    """The score; an answer without tokens, which passes no gate, stays at any threshold."""
    if outcome.result is None:
        return float("nan")
    if outcome.result.measures is None:
        return 1.0
    return scores_of(outcome.result, gates).get(signal, float("nan"))

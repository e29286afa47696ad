"""Replays the gates of a service over the tokens of ended answers, and compares positions of the first gate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from cactus_actors.calibration.signal_scores import gate_inputs_of, gates_of, signals_of
from cactus_actors.calibration.thresholds import Cut, ThresholdTarget, area_under_curve
from cactus_actors.protocol.confidence import Signal
from cactus_actors.protocol.handoff_gates import HandoffGates
from cactus_actors.protocol.results import GateInputs, Result

FIRST_GATES = (1, 2, 3, 5, 10, 0)
"""The positions that are compared, in tokens; 0 is the end alone."""
MIN_GAIN = 0.01
"""A position is better than that of the service if it keeps more answers, or more right ones, by this share."""


@dataclass(frozen=True, slots=True)
class FirstGate:
    """A position of the first gate, and its effect: AUROC, the cut that reaches the target, and the mean number of
    tokens that are computed before a handoff.
    """

    num_tokens: int
    auroc: float | None
    cut: Cut | None
    tokens_before_handoff: float | None


class GateReplay:
    """The gates of a service over the tokens of its answers.

    The signals are those that the service has, and those that are added; each answer may have a signal of its own, so
    that a fit judges only answers that it has not seen.
    """

    def __init__(self, inputs: Sequence[GateInputs]) -> None:
        self._inputs = inputs
        self._gates = gates_of(inputs[0])
        own = signals_of(inputs[0].fits)
        self._signals: dict[str, Sequence[Signal]] = {name: [signal] * len(inputs) for name, signal in own.items()}

    @classmethod
    def of(cls, results: Sequence[Result]) -> GateReplay | None:
        """None if the service did not report what its gates saw."""
        inputs = [seen for result in results if (seen := gate_inputs_of(result)) is not None]
        return cls(inputs) if inputs and len(inputs) == len(results) else None

    def signals(self, name: str) -> Sequence[Signal]:
        """The signal of each answer."""
        return self._signals[name]

    def add(self, name: str, signals: Sequence[Signal]) -> list[float]:
        """Add a signal, and return its scores at the gates of the service."""
        self._signals[name] = signals
        return self._scores(name, self._gates)

    def first_gates(self, name: str, right: Sequence[bool], target: ThresholdTarget) -> list[FirstGate]:
        """The first gate of the service, and the other ones of FIRST_GATES; none for an unknown signal."""
        if name not in self._signals:
            return []
        own = self._gates.first_tokens
        positions = (own, *(position for position in FIRST_GATES if position != own))
        return [self._first_gate(name, position, right, target) for position in positions]

    def _first_gate(self, name: str, position: int, right: Sequence[bool], target: ThresholdTarget) -> FirstGate:
        gates = replace(self._gates, first_tokens=position)
        scores = self._scores(name, gates)
        cut = target.cut(scores, right)
        tokens = None if cut is None else self._tokens_before_handoff(name, gates, cut.threshold)
        return FirstGate(position, area_under_curve(scores, right), cut, tokens)

    def _scores(self, name: str, gates: HandoffGates) -> list[float]:
        signals = zip(self._signals[name], self._inputs, strict=True)
        return [gates.lowest(signal, seen, seen.prompt) for signal, seen in signals]

    def _tokens_before_handoff(self, name: str, gates: HandoffGates, threshold: float) -> float | None:
        counts = [
            count
            for signal, seen in zip(self._signals[name], self._inputs, strict=True)
            if (count := gates.tokens_before_handoff(signal, seen, threshold, seen.prompt)) is not None
        ]
        return sum(counts) / len(counts) if counts else None


def best_gate(found: Sequence[FirstGate], target: ThresholdTarget) -> FirstGate | None:
    """The first of them, that of the service, or the best one if that is better by MIN_GAIN; None of none."""
    if not found:
        return None
    best = max(found, key=lambda gate: (target.worth(gate.cut), -(gate.tokens_before_handoff or 0.0)))
    return best if target.worth(best.cut) >= target.worth(found[0].cut) + MIN_GAIN else found[0]

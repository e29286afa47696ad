"""The calibration of every signal: its AUROC, a threshold, and the effect of that threshold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import msgspec

from cactus_actors.calibration import thresholds
from cactus_actors.calibration.examples import ExampleOutcome
from cactus_actors.calibration.fitting import cross_validated, fitted_probe
from cactus_actors.calibration.probability_fit import (
    calibration_error,
    cross_validated_probability,
    fitted_probability,
)
from cactus_actors.calibration.signal_scores import SIGNALS, features_of_result, scores_of
from cactus_actors.protocol.confidence import FittedSignalName, Probability, Probe
from cactus_actors.protocol.errors import InvalidRequest

NEW_PROBE = "new probe"
NEW_PROBABILITY = "new probability"
PROBABILITIES = ("probe", "probability", NEW_PROBE, NEW_PROBABILITY)
"""Scores that estimate the probability that an answer is right."""
MAX_POINTS = 200
"""Points of a curve."""


@dataclass(frozen=True, slots=True)
class ThresholdTarget:
    """The target of a threshold in the sample: a `precision`, or a `share` that is handed off."""

    precision: float | None = None
    share: float | None = None

    def cut(self, scores: Sequence[float], right: Sequence[bool]) -> thresholds.Cut | None:
        """The cut that reaches the target, None if there is none."""
        if self.share is not None:
            return thresholds.cut_for_share(scores, right, self.share)
        return thresholds.cut_for_precision(scores, right, self.precision if self.precision is not None else 1.0)


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """For a share handed off: the accuracy of the rest, and of all answers with those of a second service."""

    handed_off: float
    accuracy_of_rest: float
    accuracy_of_all: float | None


@dataclass(frozen=True, slots=True)
class SignalReport:
    """One signal; `auroc` is None if all answers are right, or all wrong. `ece` is the expected calibration error of
    a score that is a probability.

    `cut` is None if no threshold reaches the target; `surest` is then the nearest one. Both are None for a measure
    that a service cannot use as its signal.
    """

    name: str
    auroc: float | None
    ece: float | None
    cut: thresholds.Cut | None
    surest: thresholds.Cut | None
    accuracy_of_all: float | None
    curve: list[CurvePoint]


@dataclass(frozen=True, slots=True)
class Calibration:
    """All signals, best first; `num_failed` examples have no answer and are not counted."""

    num_answers: int
    num_failed: int
    accuracy: float
    second_accuracy: float | None
    signals: list[SignalReport]
    probe: Probe | None
    probability: Probability | None

    @classmethod
    def of(
        cls,
        outcomes: Sequence[ExampleOutcome],
        target: ThresholdTarget,
        second: Sequence[ExampleOutcome] | None = None,
        probability_of: Sequence[FittedSignalName] = (),
    ) -> Calibration:
        """Calibrate on `outcomes`; `second` are those of a better service.

        `probability` is fitted to the signal of `probability_of` with the highest AUROC. Raises InvalidRequest if all
        examples failed, or if the service has no such signal.
        """
        places = [
            place
            for place, outcome in enumerate(outcomes)
            if outcome.result is not None and outcome.result.confidence is not None
        ]
        if not places:
            raise InvalidRequest("no example was answered", param="examples")
        results = [result for place in places if (result := outcomes[place].result) is not None]
        right = [outcomes[place].is_right for place in places]
        second_right = None if second is None else [second[place].is_right for place in places]
        features = [features_of_result(result) for result in results]
        scored = [scores_of(result) for result in results]
        scores = {name: [one[name] for one in scored] for name in scored[0]}
        held_out = cross_validated(features, right)
        if held_out is not None:
            scores[NEW_PROBE] = held_out
        probability = None
        if probability_of:
            signal = _best_signal(probability_of, scores, right)
            probability = fitted_probability(signal, scores[signal], right)
            if (chances := cross_validated_probability(signal, scores[signal], right)) is not None:
                scores[NEW_PROBABILITY] = chances
        reports = [
            _report(
                name, values, right, second_right, target if name in (*SIGNALS, NEW_PROBE, NEW_PROBABILITY) else None
            )
            for name, values in scores.items()
        ]
        return cls(
            num_answers=len(places),
            num_failed=len(outcomes) - len(places),
            accuracy=sum(right) / len(right),
            second_accuracy=None if second_right is None else sum(second_right) / len(second_right),
            signals=sorted(reports, key=lambda report: -(report.auroc or 0.0)),
            probe=fitted_probe(features, right),
            probability=probability,
        )

    def to_builtins(self) -> dict[str, Any]:
        """The report for JSON, without the curves."""
        report: dict[str, Any] = msgspec.to_builtins(self)
        for fields, signal in zip(report["signals"], self.signals, strict=True):
            del fields["curve"]
            fields |= {"cut": _cut_to_builtins(signal.cut), "surest": _cut_to_builtins(signal.surest)}
        return report | {"confidence_of_intervals": thresholds.CONFIDENCE}


def _best_signal(
    candidates: Sequence[FittedSignalName], scores: dict[str, list[float]], right: Sequence[bool]
) -> FittedSignalName:
    known = [name for name in candidates if name in scores]
    if not known:
        raise InvalidRequest(f"the service has no signal {candidates[0]}", param="signal")
    return max(known, key=lambda name: thresholds.area_under_curve(scores[name], right) or 0.0)


def _cut_to_builtins(cut: thresholds.Cut | None) -> dict[str, Any] | None:
    if cut is None:
        return None
    derived = {"handed_off": cut.handed_off, "accuracy": cut.accuracy, "interval": list(cut.interval)}
    return asdict(cut) | derived


def _report(
    name: str,
    scores: Sequence[float],
    right: Sequence[bool],
    second_right: Sequence[bool] | None,
    target: ThresholdTarget | None,
) -> SignalReport:
    cut = target.cut(scores, right) if target is not None else None
    return SignalReport(
        name=name,
        auroc=thresholds.area_under_curve(scores, right),
        ece=calibration_error(scores, right) if name in PROBABILITIES else None,
        cut=cut,
        surest=thresholds.surest_cut(scores, right) if target is not None and cut is None else None,
        accuracy_of_all=None if cut is None else _accuracy_of_all(cut, scores, right, second_right),
        curve=[
            CurvePoint(one.handed_off, one.accuracy, _accuracy_of_all(one, scores, right, second_right))
            for one in _thinned(thresholds.cuts(scores, right))
        ],
    )


def _accuracy_of_all(
    cut: thresholds.Cut, scores: Sequence[float], right: Sequence[bool], second_right: Sequence[bool] | None
) -> float | None:
    if second_right is None:
        return None
    chosen = [
        second if score < cut.threshold else own for score, own, second in zip(scores, right, second_right, strict=True)
    ]
    return sum(chosen) / len(chosen)


def _thinned(found: list[thresholds.Cut]) -> list[thresholds.Cut]:
    return found[:: max(1, len(found) // MAX_POINTS)]

"""The calibration of every signal: its AUROC, a threshold, and the effect of that threshold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import msgspec

from cactus_actors.calibration import thresholds
from cactus_actors.calibration.examples import ExampleOutcome
from cactus_actors.calibration.fitting import cross_validated_probes, fitted_probe
from cactus_actors.calibration.gate_replay import MIN_GAIN, FirstGate, GateReplay, best_gate
from cactus_actors.calibration.probability_fit import calibration_error, cross_validated_fits, fitted_probability
from cactus_actors.calibration.prompt_fit import PromptFit
from cactus_actors.calibration.signal_scores import PROMPT, SIGNALS, features_at_gates, gate_inputs_of, scores_of
from cactus_actors.calibration.thresholds import ThresholdTarget
from cactus_actors.protocol.confidence import FittedSignalName, Probability, Probe
from cactus_actors.protocol.errors import InvalidRequest
from cactus_actors.protocol.prompt_probe import PromptProbe
from cactus_actors.protocol.results import Result

NEW_PROBE = "new probe"
NEW_PROBABILITY = "new probability"
NEW_PROMPT = "new prompt"
WITH_THRESHOLD = (*SIGNALS, NEW_PROBE, NEW_PROBABILITY, PROMPT, NEW_PROMPT)
"""Scores with which a service can compare a threshold; the others are only measures."""
PROBABILITIES = ("probe", "probability", NEW_PROBE, NEW_PROBABILITY)
"""Scores that estimate the probability that an answer is right."""
MAX_POINTS = 200
"""Points of a curve."""


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
    that a service cannot use as its signal. `gates` has the first gate of the service first, and is empty for a
    measure, or if the service did not report what its gates saw; `best_gate` is one of them.
    """

    name: str
    auroc: float | None
    ece: float | None
    cut: thresholds.Cut | None
    surest: thresholds.Cut | None
    accuracy_of_all: float | None
    curve: list[CurvePoint]
    gates: list[FirstGate]
    best_gate: FirstGate | None


@dataclass(frozen=True, slots=True)
class HandoffConfiguration:
    """The signal that hands off least, or keeps most right answers, of those that the service has: its settings.

    The `prompt_threshold` is that of a new probe of prompts, which hands off before those; None without one.
    """

    confidence_signal: str
    first_gate_tokens: int
    cloud_handoff_threshold: float
    prompt_threshold: float | None = None


@dataclass(frozen=True, slots=True)
class Calibration:
    """All signals, best first; `num_failed` examples have no answer and are not counted.

    `num_truncated` answers ended at max_tokens, and count as wrong.
    """

    num_answers: int
    num_truncated: int
    num_failed: int
    accuracy: float
    second_accuracy: float | None
    signals: list[SignalReport]
    probe: Probe | None
    probability: Probability | None
    prompt_probe: PromptProbe | None
    configuration: HandoffConfiguration | None

    @classmethod
    def of(
        cls,
        outcomes: Sequence[ExampleOutcome],
        target: ThresholdTarget,
        second: Sequence[ExampleOutcome] | None = None,
        probability_of: Sequence[FittedSignalName] = (),
        *,
        fits_prompt: bool = False,
    ) -> Calibration:
        """Calibrate on `outcomes`; `second` are those of a better service.

        `probability` is fitted to the signal of `probability_of` with the highest AUROC, and with `fits_prompt` a probe
        of prompts: to the prompts that are answered wrong here, and by a second service right. Raises InvalidRequest if
        all examples failed, or if the service has no such signal or reports no states of prompts.
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
        features = [features_at_gates(result) for result in results]
        replay = GateReplay.of(results)
        scored = [scores_of(result) for result in results]
        scores = {name: [one[name] for one in scored] for name in scored[0]}
        if (probes := cross_validated_probes(features, right)) is not None:
            at_end = [probe.of_features(own[-1]) for probe, own in zip(probes, features, strict=True)]
            scores[NEW_PROBE] = at_end if replay is None else replay.add(NEW_PROBE, probes)
        probability = None
        if probability_of:
            signal = _best_signal(probability_of, scores, right)
            probability = fitted_probability(signal, scores[signal], right)
            if (fits := cross_validated_fits(signal, scores[signal], right)) is not None:
                scores[NEW_PROBABILITY] = [fit(score) for fit, score in zip(fits, scores[signal], strict=True)]
                if replay is not None:
                    replay.add(
                        NEW_PROBABILITY, [fit.over(own) for fit, own in zip(fits, replay.signals(signal), strict=True)]
                    )
        prompt_probe = None
        if fits_prompt:
            fit, states = _prompt_states(results, has_second=second_right is not None)
            unneeded = [own or not other for own, other in zip(right, second_right or [True] * len(right), strict=True)]
            prompt_probe = fit.probe(states, unneeded)
            if (values := fit.cross_validated(states, unneeded)) is not None:
                scores[NEW_PROMPT] = values
        judged = _Judged(right, second_right, target, replay)
        reports = [_report(name, values, judged) for name, values in scores.items()]
        reports.sort(key=lambda report: -(report.auroc or 0.0))
        return cls(
            num_answers=len(places),
            num_truncated=sum(result.finish_reason == "length" for result in results),
            num_failed=len(outcomes) - len(places),
            accuracy=sum(right) / len(right),
            second_accuracy=None if second_right is None else sum(second_right) / len(second_right),
            signals=reports,
            probe=fitted_probe(features, right),
            probability=probability,
            prompt_probe=prompt_probe,
            configuration=_configuration(reports, target),
        )

    def to_builtins(self) -> dict[str, Any]:
        """The report for JSON, without the curves."""
        report: dict[str, Any] = msgspec.to_builtins(self)
        for fields, signal in zip(report["signals"], self.signals, strict=True):
            del fields["curve"]
            fields |= {"cut": _cut_to_builtins(signal.cut), "surest": _cut_to_builtins(signal.surest)}
            for gate_fields, gate in zip(fields["gates"], signal.gates, strict=True):
                gate_fields["cut"] = _cut_to_builtins(gate.cut)
            fields["best_gate"] = None if signal.best_gate is None else signal.best_gate.num_tokens
        return report | {"confidence_of_intervals": thresholds.CONFIDENCE}


def _best_signal(
    candidates: Sequence[FittedSignalName], scores: dict[str, list[float]], right: Sequence[bool]
) -> FittedSignalName:
    known = [name for name in candidates if name in scores]
    if not known:
        raise InvalidRequest(f"the model that was asked has no signal {candidates[0]}", param="signal")
    return max(known, key=lambda name: thresholds.area_under_curve(scores[name], right) or 0.0)


def _cut_to_builtins(cut: thresholds.Cut | None) -> dict[str, Any] | None:
    if cut is None:
        return None
    derived = {"handed_off": cut.handed_off, "accuracy": cut.accuracy, "interval": list(cut.interval)}
    return asdict(cut) | derived


@dataclass(frozen=True, slots=True)
class _Judged:
    """The answers by which all signals are judged."""

    right: Sequence[bool]
    second_right: Sequence[bool] | None
    target: ThresholdTarget
    replay: GateReplay | None


def _report(name: str, scores: Sequence[float], judged: _Judged) -> SignalReport:
    right, target = judged.right, judged.target
    is_signal = name in WITH_THRESHOLD
    cut = target.cut(scores, right) if is_signal else None
    gates = [] if judged.replay is None else judged.replay.first_gates(name, right, target)
    return SignalReport(
        name=name,
        auroc=thresholds.area_under_curve(scores, right),
        ece=calibration_error(scores, right) if name in PROBABILITIES else None,
        cut=cut,
        surest=thresholds.surest_cut(scores, right) if is_signal and cut is None else None,
        accuracy_of_all=None if cut is None else _accuracy_of_all(cut, scores, right, judged.second_right),
        curve=[
            CurvePoint(one.handed_off, one.accuracy, _accuracy_of_all(one, scores, right, judged.second_right))
            for one in _thinned(thresholds.cuts(scores, right))
        ],
        gates=gates,
        best_gate=best_gate(gates, target),
    )


def _configuration(reports: Sequence[SignalReport], target: ThresholdTarget) -> HandoffConfiguration | None:
    """The best signal that the service has; of those that are worse by less than MIN_GAIN, if at all, the one with the
    highest AUROC.
    """
    found = [
        (target.worth(gate.cut), HandoffConfiguration(report.name, gate.num_tokens, gate.cut.threshold))
        for report in reports
        if report.name in SIGNALS and (gate := report.best_gate) is not None and gate.cut is not None
    ]
    if not found:
        return None
    prompt = next((report.cut for report in reports if report.name == NEW_PROMPT), None)
    most = max(worth for worth, _ in found)
    best = next(one for worth, one in found if worth > most - MIN_GAIN)
    return best if prompt is None else replace(best, prompt_threshold=prompt.threshold)


def _prompt_states(results: Sequence[Result], *, has_second: bool) -> tuple[PromptFit, list[dict[int, bytes]]]:
    """The fit for the model of the service, and the states of the prompt of each answer."""
    inputs = [seen for result in results if (seen := gate_inputs_of(result)) is not None]
    if len(inputs) < len(results) or not all(seen.prompt_states for seen in inputs):
        raise InvalidRequest("the service reports no hidden states of prompts", param="prompt_probe")
    return PromptFit(inputs[0].fingerprint, has_second), [seen.prompt_states for seen in inputs]


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

"""Calibration replays the gates: the position of the first gate, the tokens before a handoff, the configuration."""

from __future__ import annotations

import math
import random
from pathlib import Path

import pytest

from cactus_actors.calibration import Calibration, Example, ExampleOutcome, ThresholdTarget
from cactus_actors.calibration.bound_report import BoundReport, bound_lines
from cactus_actors.calibration.bound_scores import Bound
from cactus_actors.calibration.gate_replay import FirstGate, best_gate
from cactus_actors.calibration.probability_fit import calibration_error
from cactus_actors.calibration.report import NEW_PROBE, SignalReport
from cactus_actors.calibration.report_table import report_lines
from cactus_actors.calibration.signal_scores import gate_inputs_of, scores_of, signals_of
from cactus_actors.calibration.thresholds import Cut
from cactus_actors.cli.calibrate_fits import PROBE, use_of
from cactus_actors.config import HandoffSettings
from cactus_actors.protocol.confidence import DEFAULT_SIGNAL, Probability, Probe, SignalFits
from cactus_actors.protocol.errors import InvalidRequest
from cactus_actors.protocol.handoff_gates import HandoffGates
from cactus_actors.protocol.results import GateInputs, Handoff, Measures, Result, Usage

FITS = SignalFits(
    Probe(bias=0.0, entropy_mean=-1.0, entropy_max=0.0, surprise_mean=0.0, surprise_max=0.0, length=0.0),
    Probability(signal="probe", scores=[0.0, 1.0], probabilities=[0.2, 0.8]),
)


def judged(
    is_right: bool,
    entropies: list[float],
    first_gate: int = 1,
    group: str | None = None,
    logprobs: list[float] | None = None,
) -> ExampleOutcome:
    inputs = GateInputs(
        entropies=entropies,
        logprobs=logprobs or [-entropy for entropy in entropies],
        first_gate_tokens=first_gate,
        commit_tokens=10,
        fits=FITS,
    )
    measures = Measures(entropy_mean=sum(entropies) / len(entropies), gate_inputs=inputs)
    usage = Usage(completion_tokens=len(entropies))
    result = Result(confidence=0.9, measures=measures, usage=usage, handoff=Handoff(signal="entropy"))
    return ExampleOutcome(Example(group=group), result, is_right)


def late_bloomers() -> list[ExampleOutcome]:
    """Right answers begin as unsure as the wrong ones, and are sure from the second token on."""
    right = [judged(True, [0.5 + place / 200, *[0.01] * 9]) for place in range(40)]
    return right + [judged(False, [0.5 + place / 100, *[0.3] * 9]) for place in range(20)]


def entropy_of(calibration: Calibration) -> SignalReport:
    return next(signal for signal in calibration.signals if signal.name == "entropy")


def test_a_first_gate_that_keeps_more_right_answers_is_found() -> None:
    calibration = Calibration.of(late_bloomers(), ThresholdTarget(precision=1.0))
    entropy = entropy_of(calibration)
    assert [gate.num_tokens for gate in entropy.gates] == [1, 2, 3, 5, 10, 0]
    own, best = entropy.gates[0], entropy.best_gate
    assert own.cut == entropy.cut
    assert best is not None
    assert best.cut is not None
    assert (own.cut is None or own.cut.num_kept < 40, best.cut.num_kept, best.num_tokens > 1) == (True, 40, True)
    assert best.tokens_before_handoff == best.num_tokens == 2


def test_the_tokens_before_a_handoff_are_those_of_the_first_gate_that_fails() -> None:
    calibration = Calibration.of(late_bloomers(), ThresholdTarget(share=0.5))
    tokens = {gate.num_tokens: gate.tokens_before_handoff for gate in entropy_of(calibration).gates}
    assert (tokens[1], tokens[10], tokens[0]) == (1.0, 10.0, 10.0)


def test_the_scores_of_every_signal_are_those_at_the_gates() -> None:
    result = late_bloomers()[0].result
    assert result is not None
    inputs = result.measures.gate_inputs if result.measures is not None else None
    assert isinstance(inputs, GateInputs)
    signals = signals_of(FITS)
    assert list(signals) == ["entropy", "min_token_prob", "answer_prob", "probe", "probability"]
    for gates in (None, HandoffGates(3), HandoffGates(0)):
        scores = scores_of(result, gates)
        assert all(scores[name] == (gates or HandoffGates()).lowest(signals[name], inputs) for name in signals)
    assert scores_of(result)["probe"] < scores_of(result, HandoffGates(0))["probe"]
    calibration = Calibration.of(late_bloomers(), ThresholdTarget(precision=0.9))
    assert all(len(one.gates) == 6 for one in calibration.signals if one.name in (*signals, NEW_PROBE))


def gate(num_tokens: int, num_kept: int, tokens: float) -> FirstGate:
    return FirstGate(num_tokens, 0.9, Cut(0.5, 1000, num_kept, num_kept), tokens)


def test_another_gate_is_chosen_only_if_it_pays() -> None:
    target = ThresholdTarget(precision=0.9)
    own, hardly, better, later = gate(1, 500, 1.0), gate(2, 509, 2.0), gate(3, 510, 3.0), gate(5, 510, 5.0)
    assert best_gate([own, hardly], target) == own
    assert best_gate([own, hardly, later, better], target) == better
    assert best_gate([FirstGate(1, 0.9, None, None), later], target) == later
    assert best_gate([], target) is None


def test_of_signals_that_hand_off_about_as_much_the_one_with_the_highest_auroc_is_recommended() -> None:
    """By entropy one answer more stays, but the least sure right answers are below all wrong ones."""
    by_entropy = {True: [*range(140), *range(190, 200)], False: range(140, 190)}
    by_probability = {True: [*range(139), *range(143, 154)], False: [*range(139, 143), *range(154, 200)]}
    outcomes = [
        judged(is_right, [entropy / 200], logprobs=[-(rank + 1) / 200])
        for is_right in (True, False)
        for entropy, rank in zip(by_entropy[is_right], by_probability[is_right], strict=True)
    ]
    calibration = Calibration.of(outcomes, ThresholdTarget(precision=0.98))
    kept = {one.name: one.cut.num_kept for one in calibration.signals if one.cut is not None}
    assert (kept["entropy"], kept["answer_prob"]) == (142, 141)
    assert calibration.configuration is not None
    assert calibration.configuration.confidence_signal in ("answer_prob", "min_token_prob")


def test_the_configuration_is_printed_and_can_be_set() -> None:
    calibration = Calibration.of(late_bloomers(), ThresholdTarget(precision=1.0))
    configuration = calibration.configuration
    assert configuration is not None
    lines = list(report_lines(calibration, ThresholdTarget(precision=1.0)))
    assert all(len(line) <= 80 for line in lines)
    printed = lines[lines.index("  [handoff]") + 1 :]
    assert printed == [
        f'  confidence_signal = "{configuration.confidence_signal}"',
        f"  first_gate_tokens = {configuration.first_gate_tokens}",
    ]
    entropy = [line.split() for line in lines if line.startswith("entropy ")]
    assert [words[1] for words in entropy[1:]][-1] == "2"
    report = calibration.to_builtins()
    assert report["configuration"]["first_gate_tokens"] == configuration.first_gate_tokens
    (fields,) = (signal for signal in report["signals"] if signal["name"] == "entropy")
    assert (fields["best_gate"], fields["gates"][1]["cut"]["num_kept"]) == (2, 40)


def test_a_bound_is_for_the_gates_of_the_service_or_for_the_one_that_is_named() -> None:
    answers = [
        judged(place % 20 > 0, [0.2 + place % 20 / 100, *[0.01 if place % 20 else 0.5] * 11], first_gate=2)
        for place in range(400)
    ]
    own = BoundReport.of(answers, Bound(0.05, 0.95))
    at_end = BoundReport.of(answers, Bound(0.05, 0.95, first_gate=0))
    assert (own.first_gate_tokens, at_end.first_gate_tokens) == (2, 0)
    granted = at_end.grants[""]
    assert granted.threshold is not None
    assert 0 < granted.num_kept < 400
    assert at_end.tokens_before_handoff == 12.0
    lines = list(bound_lines(at_end, Bound(0.05, 0.95)))
    assert "Tokens computed before a handoff: 12.0 on average" in lines
    assert lines[-3:] == ["  [handoff]", '  confidence_signal = "entropy"', "  first_gate_tokens = 0"]
    assert all(len(line) <= 80 for line in lines)
    unknown = Result(confidence=0.9, measures=Measures(), handoff=Handoff(signal="entropy"))
    with pytest.raises(InvalidRequest, match="does not report"):
        BoundReport.of([ExampleOutcome(Example(), unknown, True)], Bound(0.05, 0.95, first_gate=2))


def test_an_answer_without_tokens_stays_at_every_threshold() -> None:
    silent = [ExampleOutcome(Example(), Result(handoff=Handoff(signal="entropy")), False)] * 30
    sure = [judged(True, [0.001 + place / 1000]) for place in range(370)]
    report = BoundReport.of(silent + sure, Bound(0.05, 0.95))
    assert report.grants[""].threshold is None
    assert BoundReport.of(sure, Bound(0.05, 0.95)).grants[""].num_kept == 370


def test_the_default_signal_needs_no_fit() -> None:
    assert HandoffSettings().confidence_signal == DEFAULT_SIGNAL
    assert DEFAULT_SIGNAL in signals_of(SignalFits())
    assert HandoffSettings().first_gate_tokens == 1


def test_a_new_probe_is_calibrated_at_the_early_gates_too() -> None:
    """Longer answers are right more often: a fit to whole answers takes a first token for a wrong answer."""
    draw = random.Random(4)
    answers = []
    for _ in range(600):
        is_right = draw.random() < 0.7
        num_tokens = draw.randint(8, 14) if is_right else draw.randint(5, 9)
        doubt = draw.gauss(-3.5 if is_right else -2.0, 0.8)
        answers.append(judged(is_right, [math.exp(doubt + draw.gauss(0.0, 0.5)) for _ in range(num_tokens)]))
    calibration = Calibration.of(answers, ThresholdTarget(precision=0.9))
    (row,) = (one for one in calibration.signals if one.name == NEW_PROBE)
    assert row.ece is not None
    assert row.ece < 0.1
    assert calibration.probe is not None
    inputs = [seen for answer in answers if answer.result is not None and (seen := gate_inputs_of(answer.result))]
    at_gates = [HandoffGates().lowest(calibration.probe, seen) for seen in inputs]
    assert calibration_error(at_gates, [answer.is_right for answer in answers]) < 0.1
    used = list(use_of(PROBE, Path("probe.json"), row, "small"))
    assert row.best_gate is not None
    assert row.best_gate.cut is not None
    assert used == [
        "The new probe is in probe.json.",
        f"In cactus.toml, with cloud_handoff_threshold {row.best_gate.cut.threshold:.6g} in requests:",
        "  [handoff]",
        '  confidence_signal = "probe"',
        f"  first_gate_tokens = {row.best_gate.num_tokens}",
        "  [[models]]  # in the entry of small",
        '  probe_file = "probe.json"',
    ]

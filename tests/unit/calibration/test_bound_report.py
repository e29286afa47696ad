"""Bounds from judged answers: signals, groups, and the text of the report."""

from __future__ import annotations

import json

import numpy as np
import pytest

from cactus_actors.calibration import Example, ExampleOutcome
from cactus_actors.calibration.bound_report import BoundReport, bound_lines
from cactus_actors.calibration.bound_scores import Bound
from cactus_actors.calibration.signal_scores import scores_of
from cactus_actors.protocol.errors import InvalidRequest
from cactus_actors.protocol.results import Handoff, Measures, Result, Usage

BOUND = Bound(0.05, 0.95)


def judged(is_right: bool, score: float, group: str | None = None, **measures: float) -> ExampleOutcome:
    """An answer of a service whose signal is min_token_prob."""
    result = Result(
        confidence=0.9,
        measures=Measures(min_token_prob=score, entropy_mean=0.1, **measures),
        usage=Usage(completion_tokens=3),
        handoff=Handoff(signal="min_token_prob"),
    )
    return ExampleOutcome(Example(group=group), result, is_right)


def outcomes(num: int = 400, group: str | None = None) -> list[ExampleOutcome]:
    """Right answers score from 0.5 to 1, wrong ones, a fifth of all, from 0 to 0.6."""
    draw = np.random.default_rng(4)
    right = draw.random(num) < 0.8
    scores = np.where(right, draw.uniform(0.5, 1.0, num), draw.uniform(0.0, 0.6, num))
    return [judged(bool(is_true), float(score), group) for is_true, score in zip(right, scores, strict=True)]


def test_a_bound_is_for_the_signal_of_the_service() -> None:
    report = BoundReport.of(outcomes(), BOUND)
    granted = report.grants[""]
    assert (report.signal, report.num_answers, report.num_failed) == ("min_token_prob", 400, 0)
    assert granted.threshold is not None
    assert granted.threshold == round(granted.threshold, 4)
    stay = [one for one in outcomes() if scores_of_result(one) >= granted.threshold]
    assert len(stay) == granted.num_kept
    assert sum(not one.is_right for one in stay) == granted.num_wrong


def scores_of_result(outcome: ExampleOutcome) -> float:
    assert outcome.result is not None
    return scores_of(outcome.result)["min_token_prob"]


def test_another_signal_may_be_named() -> None:
    report = BoundReport.of(outcomes(), Bound(0.05, 0.95, "entropy"))
    assert report.grants[""].threshold is None  # all answers have the same entropy
    with pytest.raises(InvalidRequest, match=r"the model .* has no signal probe"):
        BoundReport.of(outcomes(), Bound(0.05, 0.95, "probe"))


def test_the_score_of_a_signal_is_its_lowest_value_at_the_gates() -> None:
    outcome = judged(True, 0.5, probe=0.9, probe_at_gates=0.25, entropy_at_gates=0.375)
    assert outcome.result is not None
    assert {name: scores_of(outcome.result)[name] for name in ("entropy", "entropy_mean", "probe")} == {
        "entropy": 0.375,
        "entropy_mean": 0.9,
        "probe": 0.25,
    }


def test_examples_without_an_answer_are_handed_off() -> None:
    failed = [ExampleOutcome(Example(), None, False)] * 100
    report = BoundReport.of(outcomes() + failed, BOUND)
    assert (report.num_answers, report.num_failed) == (400, 100)
    assert report.grants[""].num_labels == 500
    assert report.grants[""].num_kept == BoundReport.of(outcomes(), BOUND).grants[""].num_kept
    with pytest.raises(InvalidRequest, match="no example was answered"):
        BoundReport.of(failed, BOUND)


def test_a_second_service_answers_what_is_handed_off() -> None:
    own = outcomes()
    second = [ExampleOutcome(Example(), None, place % 10 > 0) for place in range(len(own))]
    report = BoundReport.of(own, BOUND, second)
    threshold = report.grants[""].threshold
    assert threshold is not None
    chosen = [one if scores_of_result(one) >= threshold else other for one, other in zip(own, second, strict=True)]
    assert report.accuracy_of_all == sum(one.is_right for one in chosen) / len(own)
    assert report.accuracy < 0.85 < report.accuracy_of_all
    line = f"If the second service answers the others, {report.accuracy_of_all:.1%} of all answers are right."
    assert line in bound_lines(report, BOUND)
    assert not any("second service" in line for line in bound_lines(BoundReport.of(own, BOUND), BOUND))
    nothing = BoundReport.of(own, Bound(0.05, 0.95, "entropy"), second)
    assert nothing.accuracy_of_all == 0.9


def test_a_threshold_of_0_keeps_all_answers() -> None:
    report = BoundReport.of([judged(True, 0.5 + place / 1000) for place in range(100)], BOUND)
    assert (report.grants[""].threshold, report.grants[""].kept) == (0.0, 1.0)


def test_each_group_has_its_own_bound() -> None:
    answers = outcomes(group="easy") + [judged(place % 2 == 0, place / 100, "hard") for place in range(100)]
    report = BoundReport.of([*answers, judged(True, 0.7)], BOUND)
    assert list(report.grants) == ["", "easy", "hard"]
    assert report.grants["easy"] == BoundReport.of(outcomes(), BOUND).grants[""]
    assert report.grants["hard"].threshold is None
    lines = list(bound_lines(report, BOUND))
    assert max(map(len, lines)) <= 80
    rows = {line.split("  ")[0]: " ".join(line.split()) for line in lines if not line.startswith(" ")}
    easy = report.grants["easy"]
    assert rows["easy"].startswith(f"easy {easy.threshold:.6g} {easy.num_kept} of 400 {easy.num_wrong} ")
    assert rows["hard"] == "hard none 0 of 100 0 100.0% 47.4%"
    assert rows["no group"] == "no group none 0 of 1 0 100.0% 0.0%"
    hard = next(place for place, line in enumerate(lines) if line.startswith("hard"))
    assert lines[hard + 1].endswith("; more questions would not be enough")


def test_the_report_states_the_bound_in_a_sentence() -> None:
    lines = list(bound_lines(BoundReport.of(outcomes(), BOUND), BOUND))
    assert lines[0] == "With 95.0% confidence, at most 5.0% of the answers that stay are wrong,"
    assert lines[1] == "if those whose min_token_prob is below the threshold are handed off:"
    assert max(map(len, lines)) <= 80


def test_the_report_is_json() -> None:
    report = json.loads(json.dumps(BoundReport.of(outcomes(), BOUND).to_builtins()))
    assert report["signal"] == "min_token_prob"
    assert report["grants"][""]["error_bound"] == 0.05

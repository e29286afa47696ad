"""From labelled answers to thresholds: judging, ranking, fitting, the report and the command."""

from __future__ import annotations

import math
import random
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cactus_actors.calibration import (
    Calibration,
    Example,
    ExampleOutcome,
    ThresholdTarget,
    read_examples,
)
from cactus_actors.calibration.fitting import MIN_EACH, cross_validated_probes, fitted_probe
from cactus_actors.calibration.plotting import write_plot
from cactus_actors.calibration.report import NEW_PROBE
from cactus_actors.calibration.report_table import report_lines
from cactus_actors.calibration.thresholds import (
    Cut,
    area_under_curve,
    cut_for_precision,
    cut_for_share,
    cuts,
    exact_interval,
    surest_cut,
)
from cactus_actors.config_reading import make_config, read_config_file
from cactus_actors.protocol.confidence import probe_features
from cactus_actors.protocol.errors import ConfigurationInvalid, InvalidRequest
from cactus_actors.protocol.results import FinishReason, Measures, Result, ToolCall, Usage
from tests.support.text.documents import page


def said(text: str, finish_reason: FinishReason = "stop", **fields: Any) -> Result:
    return Result(text=text, finish_reason=finish_reason, **fields)


def judged(is_right: bool, doubt: float, probe: float | None = None) -> ExampleOutcome:
    """An answer of four tokens, each with all measures equal to `doubt`."""
    measures = Measures(
        mean_logprob=-doubt,
        min_token_prob=math.exp(-2 * doubt),
        entropy_mean=doubt / 4,
        entropy_max=doubt / 2,
        probe=probe,
    )
    usage = Usage(completion_tokens=4)
    return ExampleOutcome(Example(), Result(confidence=1 - doubt / 4, measures=measures, usage=usage), is_right)


# judging


@pytest.mark.parametrize(
    ("label", "right", "wrong"),
    [
        ({"answer": "Paris"}, "  paris.\n", "Paris it is"),
        ({"contains": "paris"}, "It is PARIS!", "It is Rome"),
        ({"contains": ["one", "two"]}, "Two, one", "one"),
        ({"regex": r"\b4\d\b"}, "It is 42", "It is 142"),
        ({"answer": "42", "regex": "4"}, "42.", "43"),
    ],
)
def test_answers_are_compared_with_their_label(label: dict[str, Any], right: str, wrong: str) -> None:
    example = Example(question="?", **label)
    assert example.is_right(said(right))
    assert not example.is_right(said(wrong))
    assert not example.is_right(said(right, "length"))
    assert not example.is_right(said(right, success=False))


def test_calls_can_be_a_label() -> None:
    example = Example(question="?", calls=[ToolCall("add", {"a": 1})])
    assert example.is_right(said("", "tool_calls", tool_calls=[ToolCall("add", {"a": 1})]))
    assert not example.is_right(said("", "tool_calls", tool_calls=[ToolCall("add", {"a": 2})]))
    assert not Example(question="?", calls=[]).is_right(said("", tool_calls=[ToolCall("add", {})]))


# documentation


def blocks_of(document: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page(document), re.M | re.S)


def test_the_documented_examples_are_valid(tmp_path: Path) -> None:
    (block,) = blocks_of("guide/handoff.md", "json")
    (tmp_path / "data.jsonl").write_text(block)
    paris, sum_of_two, timer = read_examples(tmp_path / "data.jsonl")
    assert paris.is_right(said("It is Paris."))
    assert sum_of_two.is_right(said("17 + 25 = 42."))
    assert timer.is_right(said("", tool_calls=[ToolCall("timer", {"minutes": 5})]))


def test_the_documented_settings_are_valid(tmp_path: Path) -> None:
    handoffs = []
    for block in blocks_of("guide/handoff.md", "toml"):
        (tmp_path / "serve.toml").write_text(block)
        handoffs.append(make_config(read_config_file(tmp_path / "serve.toml")).handoff)
    assert (handoffs[0].confidence_signal, handoffs[0].first_gate_tokens, handoffs[0].max_share) == (
        "answer_prob",
        1,
        0.2,
    )
    assert handoffs[1].audit_share > 0


# ranking


def test_area_under_curve_equals_its_definition() -> None:
    assert area_under_curve([0.1, 0.2, 0.3], [False, True, True]) == 1.0
    assert area_under_curve([0.3, 0.2, 0.1], [False, True, True]) == 0.0
    assert area_under_curve([0.5, 0.5], [False, True]) == 0.5
    assert area_under_curve([0.5, 0.7], [True, True]) is None
    assert area_under_curve([0.5, 0.7], [False, False]) is None
    assert area_under_curve([0.1, 0.4, 0.35, 0.8], [False, False, True, True]) == 0.75


SCORES = [0.1, 0.2, 0.3, 0.4, 0.5]
RIGHT = [False, True, False, True, True]


def test_the_cut_for_a_precision_has_the_smallest_handed_off_share() -> None:
    assert cut_for_precision(SCORES, RIGHT, 0.6) == Cut(0.0, 5, 5, 3)
    assert cut_for_precision(SCORES, RIGHT, 0.75) == Cut(0.15, 5, 4, 3)
    assert cut_for_precision(SCORES, RIGHT, 1.0) == Cut(0.35, 5, 2, 2)
    assert cut_for_precision([0.1, 0.2], [True, False], 0.9) is None
    assert surest_cut([0.1, 0.2, 0.3], [True, True, False]) == Cut(0.0, 3, 3, 2)


def test_the_cut_for_a_share_is_the_largest_allowed() -> None:
    assert cut_for_share(SCORES, RIGHT, 0.0).handed_off == 0.0
    assert cut_for_share(SCORES, RIGHT, 0.5) == Cut(0.25, 5, 3, 2)
    assert cut_for_share([0.5] * 4, [True] * 4, 0.5) == Cut(0.0, 4, 4, 4)  # equal values cannot be separated


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=30))
def test_a_cut_has_the_share_and_the_accuracy_of_its_threshold(answers: list[tuple[float, bool]]) -> None:
    scores, right = [score for score, _ in answers], [is_right for _, is_right in answers]
    for cut in cuts(scores, right):
        stay = [is_right for score, is_right in answers if score >= cut.threshold]
        assert cut.handed_off == 1 - len(stay) / len(answers) or cut.handed_off == pytest.approx(
            1 - len(stay) / len(answers)
        )
        assert cut.accuracy == sum(stay) / len(stay)


# accuracy of estimates


@pytest.mark.parametrize(
    ("num_right", "num", "low", "high"),
    [
        (8, 10, 0.4439, 0.9748),  # of the tables of Clopper and Pearson
        (0, 10, 0.0, 0.3085),
        (10, 10, 0.6915, 1.0),
        (97, 100, 0.9148, 0.9938),
        (0, 0, 0.0, 1.0),
        (1, 1, 0.025, 1.0),
    ],
)
def test_the_interval_is_that_of_clopper_and_pearson(num_right: int, num: int, low: float, high: float) -> None:
    assert exact_interval(num_right, num) == (pytest.approx(low, abs=1e-4), pytest.approx(high, abs=1e-4))


def test_the_interval_of_a_given_threshold_covers_the_true_precision() -> None:
    """Computed for every probability, summed over all outcomes, without simulation."""
    for chance in (0.5, 0.9, 0.97, 0.999):
        for num in (1, 20, 100):
            missed = 0.0
            for num_right in range(num + 1):
                low, high = exact_interval(num_right, num)
                if not low <= chance <= high:
                    missed += math.comb(num, num_right) * chance**num_right * (1 - chance) ** (num - num_right)
            assert missed <= 0.05


def test_the_precision_of_a_cut_is_not_a_lower_bound() -> None:
    """The document states it: about every second threshold has a lower precision than requested on other questions."""
    draw, num_short = random.Random(3), 0
    for _ in range(200):
        scores = [draw.random() for _ in range(400)]
        right = [draw.random() < 0.8 + 0.2 * score for score in scores]
        cut = cut_for_precision(scores, right, 0.95)
        if cut is not None:
            true_precision = 0.8 + 0.2 * (1 + cut.threshold) / 2
            num_short += true_precision < 0.95
    assert 60 < num_short < 150


# fitting


def doubtful_answers(count: int = 400) -> tuple[list[list[tuple[float, ...]]], list[bool]]:
    """Features at the end of answers of eight tokens, wrong more often if their worst token is less likely."""
    draw = random.Random(5)
    features, right = [], []
    for _ in range(count):
        worst = draw.uniform(0.05, 3.0)
        features.append([probe_features([0.1 * draw.random() for _ in range(8)], [-0.01] * 7 + [-worst])])
        right.append(draw.random() > worst / 3)
    return features, right


def test_a_fitted_probe_ranks_answers_like_the_ideal_one() -> None:
    features, right = doubtful_answers()
    probe = fitted_probe(features, right)
    assert probe is not None
    scores = [probe.of_features(end) for (end,) in features]
    ideal = [-end[3] for (end,) in features]
    assert area_under_curve(scores, right) > area_under_curve(ideal, right) - 0.02
    assert sum(scores) / len(scores) == pytest.approx(sum(right) / len(right), abs=0.01)


def test_a_probe_is_cross_validated() -> None:
    features, _ = doubtful_answers(60)
    draw = random.Random(1)
    noise = [draw.random() < 0.5 for _ in features]
    probes = cross_validated_probes(features, noise)
    assert probes is not None
    scores = [probe.of_features(end) for probe, (end,) in zip(probes, features, strict=True)]
    assert area_under_curve(scores, noise) < 0.65


def test_too_few_answers_give_no_probe() -> None:
    features, _ = doubtful_answers(40)
    assert fitted_probe(features, [True] * 31 + [False] * 9) is None
    assert cross_validated_probes(features, [True] * 30 + [False] * 10) is None


# report


def outcomes(num_right: int = 40, num_wrong: int = 20) -> list[ExampleOutcome]:
    """The wrong answers are the least confident ones except for one."""
    wrong = [judged(False, 1.0 + 0.01 * place) for place in range(num_wrong - 1)] + [judged(False, 0.001)]
    return [judged(True, 0.01 * (place + 1)) for place in range(num_right)] + wrong


def test_a_calibration_ranks_signals_and_meets_the_target() -> None:
    calibration = Calibration.of(outcomes(), ThresholdTarget(precision=0.9))
    assert (calibration.num_answers, calibration.num_failed) == (60, 0)
    assert calibration.accuracy == pytest.approx(2 / 3)
    names = [signal.name for signal in calibration.signals]
    assert {"entropy", "min_token_prob", "mean_token_prob", "entropy_max", NEW_PROBE} <= set(names)
    assert "probe" not in names  # this service has none
    entropy = next(signal for signal in calibration.signals if signal.name == "entropy")
    assert entropy.auroc == pytest.approx(0.95)
    assert entropy.cut is not None
    assert entropy.cut.accuracy >= 0.9
    assert entropy.cut.handed_off == pytest.approx(16 / 60)
    assert entropy.cut.interval == exact_interval(entropy.cut.num_right, entropy.cut.num_kept)
    measure = next(signal for signal in calibration.signals if signal.name == "entropy_max")
    assert (measure.cut, measure.surest) == (None, None)
    aurocs = [signal.auroc or 0.0 for signal in calibration.signals]
    assert aurocs == sorted(aurocs, reverse=True)


def test_a_second_service_answers_the_handed_off_questions() -> None:
    own = outcomes()
    second = [judged(place % 4 != 0, 0.1) for place in range(len(own))]
    calibration = Calibration.of(own, ThresholdTarget(share=0.3), second)
    assert calibration.second_accuracy == 0.75
    entropy = next(signal for signal in calibration.signals if signal.name == "entropy")
    assert entropy.cut is not None
    assert entropy.cut.handed_off == pytest.approx(0.3)
    # 40 right ones stay, and 13 of the 18 handed off (places 41 to 58) are right now
    assert entropy.accuracy_of_all == pytest.approx((40 + sum(place % 4 != 0 for place in range(41, 59))) / 60)
    assert entropy.curve[0].accuracy_of_all == pytest.approx(calibration.accuracy)


def test_the_probe_of_the_service_is_compared_with_the_other_signals() -> None:
    answers = [judged(True, 0.5, probe=0.9), judged(False, 0.1, probe=0.2)]
    calibration = Calibration.of(answers, ThresholdTarget(precision=1.0))
    assert calibration.signals[0].name == "probe"
    assert calibration.signals[0].cut == Cut(0.55, 2, 1, 1)
    assert calibration.probe is None


def lines_of(answers: list[ExampleOutcome], target: ThresholdTarget) -> dict[str, str]:
    lines = list(report_lines(Calibration.of(answers, target), target))
    assert max(map(len, lines)) <= 80
    return {line.split("  ")[0]: " ".join(line.split()) for line in lines}


def test_the_table_shows_how_many_answers_an_estimate_has() -> None:
    lines = lines_of(outcomes(), ThresholdTarget(precision=0.9))
    assert lines["signal"].startswith("signal AUROC threshold handed estimate 95% right")
    # 40 right and 4 wrong ones stay
    low, high = exact_interval(40, 44)
    assert f"90.9% {low * 100:.1f}-{high:.1%} 40 of 44" in lines["entropy"]
    assert "a measure" in lines["entropy_max"]
    assert any(line.startswith("Estimates from these answers") for line in lines)


def test_fits_that_no_other_answers_can_judge_have_no_row_but_a_line() -> None:
    doubts = random.Random(0)
    answers = [judged(number % 3 > 0, doubts.random()) for number in range(MIN_EACH * 3)]
    calibration = Calibration.of(answers, ThresholdTarget(precision=0.5), probability_of=("entropy",))
    assert calibration.probe is not None
    lines = list(report_lines(calibration, ThresholdTarget(precision=0.5)))
    assert "There is no row new probe, new probability: it needs 10 right and" in lines
    assert not any(
        "new probe" in line for line in lines_of(answers * 2, ThresholdTarget(precision=0.5)) if "row" in line
    )


def test_the_table_of_many_answers_and_a_second_service_fits_a_terminal() -> None:
    answers = outcomes() * 150
    target = ThresholdTarget(precision=0.9)
    lines = list(report_lines(Calibration.of(answers, target, answers), target))
    assert max(map(len, lines)) == 80
    assert "6000 of 6600" in " ".join(lines)
    assert lines[0].endswith("  all")


def test_an_unreachable_target_is_explained() -> None:
    answers = [judged(place % 2 == 0, 0.5) for place in range(10)]
    calibration = Calibration.of(answers, ThresholdTarget(precision=0.97))
    entropy = next(signal for signal in calibration.signals if signal.name == "entropy")
    assert (entropy.cut, entropy.surest) == (None, Cut(0.0, 10, 10, 5))
    line = lines_of(answers, ThresholdTarget(precision=0.97))["entropy"]
    assert line.endswith("nothing reaches 97.0%: at best 5 of 10 right (50.0%)")


@pytest.mark.parametrize(("is_right", "word"), [(True, "right"), (False, "wrong")])
def test_without_right_and_wrong_answers_there_is_no_auroc(is_right: bool, word: str) -> None:
    answers = [judged(is_right, 0.1 * place) for place in range(1, 10)]
    calibration = Calibration.of(answers, ThresholdTarget(precision=0.9))
    assert {signal.auroc for signal in calibration.signals} == {None}
    lines = lines_of(answers, ThresholdTarget(precision=0.9))
    assert lines["entropy"].startswith("entropy - ")
    assert any(
        line == f"There is no AUROC: all answers are {word}, so nothing tells right from wrong." for line in lines
    )
    assert calibration.to_builtins()["signals"][0]["auroc"] is None


def test_the_json_report_has_the_counts_of_an_estimate() -> None:
    report = Calibration.of(outcomes(), ThresholdTarget(precision=0.9)).to_builtins()
    entropy = next(signal for signal in report["signals"] if signal["name"] == "entropy")
    cut = entropy["cut"]
    assert (cut["num_answers"], cut["num_kept"], cut["num_right"]) == (60, 44, 40)
    assert cut["interval"] == list(exact_interval(40, 44))
    assert report["confidence_of_intervals"] == 0.95


def test_failed_answers_are_not_counted() -> None:
    failed = [ExampleOutcome(Example(), None, False), ExampleOutcome(Example(), Result(confidence=None), False)]
    calibration = Calibration.of([*outcomes(), *failed], ThresholdTarget())
    assert (calibration.num_answers, calibration.num_failed) == (60, 2)
    with pytest.raises(InvalidRequest, match="no example was answered"):
        Calibration.of(failed, ThresholdTarget())


@pytest.mark.parametrize("second", [None, outcomes()])
def test_the_plot_is_a_png(tmp_path: Path, second: list[ExampleOutcome] | None) -> None:
    calibration = Calibration.of(outcomes(), ThresholdTarget(), second)
    write_plot(calibration, tmp_path / "curve.png")
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ConfigurationInvalid, match="nowhere"):
        write_plot(calibration, tmp_path / "nowhere" / "curve.png")

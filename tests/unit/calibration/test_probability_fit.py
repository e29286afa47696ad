"""The fit of a probability to a signal: its regression, its calibration error, and too few answers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cactus_actors.calibration.probability_fit import (
    calibration_error,
    cross_validated_fits,
    fitted_probability,
)


def overconfident(num: int, seed: int) -> tuple[list[float], list[bool]]:
    """Scores that are right with their square as probability."""
    draw = np.random.default_rng(seed)
    scores = draw.random(num)
    return scores.tolist(), (draw.random(num) < scores**2).tolist()


def test_the_fit_is_close_to_the_true_probability() -> None:
    fit = fitted_probability("answer_prob", *overconfident(5000, seed=1))
    assert fit is not None
    assert fit.signal == "answer_prob"
    for score in (0.1, 0.3, 0.5, 0.7, 0.9):
        assert fit(score) == pytest.approx(score**2, abs=0.06)


def test_the_fit_repairs_the_calibration_of_other_answers() -> None:
    fit = fitted_probability("probe", *overconfident(1000, seed=2))
    assert fit is not None
    scores, right = overconfident(20_000, seed=3)
    assert calibration_error(scores, right) > 0.15
    assert calibration_error([fit(score) for score in scores], right) < 0.05


@given(st.lists(st.tuples(st.sampled_from([0.1, 0.2, 0.4, 0.8]), st.booleans()), min_size=40, max_size=80))
def test_the_steps_are_those_of_isotonic_regression(answers: list[tuple[float, bool]]) -> None:
    """At a score it is the largest of the least means of stretches that contain it (the min-max formula)."""
    scores, right = [score for score, _ in answers], [is_right for _, is_right in answers]
    fit = fitted_probability("entropy", scores, right)
    if fit is None:
        assert min(sum(right), len(right) - sum(right)) < 10
        return
    levels = sorted(set(scores))

    def mean(low: float, high: float) -> float:
        labels = [is_right for score, is_right in answers if low <= score <= high]
        return sum(labels) / len(labels)

    def regression(level: float) -> float:
        return max(min(mean(low, high) for high in levels if high >= level) for low in levels if low <= level)

    expected: dict[float, list[float]] = {}
    for score in scores:
        expected.setdefault(round(regression(score), 12), []).append(score)
    assert fit.scores == pytest.approx([sum(step) / len(step) for _, step in sorted(expected.items())])
    share = sum(right) / len(right)
    shrunk = [(value * len(step) + share) / (len(step) + 1) for value, step in sorted(expected.items())]
    assert fit.probabilities == pytest.approx(np.maximum.accumulate(shrunk).tolist())


def test_each_answer_is_judged_by_a_fit_without_it() -> None:
    scores, right = overconfident(200, seed=4)
    fits = cross_validated_fits("entropy", scores, right)
    assert fits is not None
    others = [place for place in range(200) if place % 5 != 3]
    fit = fitted_probability("entropy", [scores[place] for place in others], [right[place] for place in others])
    assert fit is not None
    assert (len(fits), fits[3]) == (200, fit)


def test_too_few_answers_give_no_fit() -> None:
    assert fitted_probability("entropy", [0.5] * 30, [True] * 21 + [False] * 9) is None
    assert cross_validated_fits("entropy", [0.5] * 30, [True] * 19 + [False] * 11) is None


def test_calibration_error_equals_its_definition() -> None:
    assert calibration_error([0.95, 0.95, 0.15, 0.15], [True, False, False, False]) == pytest.approx(0.3)
    assert calibration_error([1.0, 1.0], [True, True]) == 0.0

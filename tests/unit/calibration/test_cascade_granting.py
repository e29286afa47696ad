"""Thresholds of a cascade: the bound over many calibrations, the arithmetic of costs, and refused values."""

from __future__ import annotations

import numpy as np
import pytest

from cactus_actors.calibration.bound_scores import Bound
from cactus_actors.calibration.cascade_granting import (
    Bools,
    Floats,
    grant_cascade,
    outcome_of,
    smallest_cascade_error,
)
from cactus_actors.calibration.cascade_report import CascadeReport, TierReport, cascade_lines

COSTS = (0.0, 0.1, 1.0)
MAX_ERROR = 0.05


def population(num: int) -> tuple[Floats, Bools]:
    """Questions of varying difficulty for two tiers, the second one better: scores and verdicts (questions, 2)."""
    draw = np.random.default_rng(5)
    difficulty = draw.normal(0.0, 1.0, num)
    right = np.stack([draw.normal(0.0, 0.7, num) + skill > difficulty for skill in (0.3, 1.2)], axis=1)
    return draw.normal(2.0 * right, 1.0), right


def test_the_bound_is_seldom_violated_and_the_second_tier_saves_cost() -> None:
    scores, right = population(50_000)
    draw = np.random.default_rng(1)
    num_calibrations = 60
    violated, cascade_cost, single_cost = 0, 0.0, 0.0
    for _ in range(num_calibrations):
        chosen = draw.integers(len(scores), size=600)
        granted = grant_cascade(scores[chosen], right[chosen], COSTS, MAX_ERROR)
        single = grant_cascade(scores[chosen, :1], right[chosen, :1], (0.0, 1.0), MAX_ERROR)
        single_cost += single.cost
        if granted.thresholds is None:
            cascade_cost += granted.cost
            continue
        outcome = outcome_of(scores, right, COSTS, granted.thresholds)
        cascade_cost += outcome.cost
        violated += outcome.num_wrong > MAX_ERROR * outcome.num_kept
    assert violated <= 60 * 0.05 + 2 * (60 * 0.05 * 0.95) ** 0.5
    assert cascade_cost < 0.85 * single_cost


def test_a_question_is_asked_of_each_tier_until_one_is_sure() -> None:
    scores = np.array([[0.9, 0.0], [0.2, 0.8], [0.2, 0.1], [np.nan, 0.9]])
    right = np.array([[True, True], [True, False], [True, True], [False, True]])
    outcome = outcome_of(scores, right, (1.0, 10.0, 100.0), (0.5, 0.5))
    assert outcome.num_answered == (1, 2)
    assert outcome.num_wrong == 1
    assert outcome.cost == pytest.approx((4 * 1 + 3 * 10 + 1 * 100) / 4)


def test_the_granted_counts_are_those_of_the_questions_that_were_tested() -> None:
    scores, right = population(3000)
    granted = grant_cascade(scores, right, COSTS, MAX_ERROR)
    assert granted.thresholds is not None
    assert granted.num_tested == 2400
    assert granted.num_kept == round(sum(granted.kept) * granted.num_tested)
    assert granted.num_wrong < MAX_ERROR * granted.num_kept
    assert granted.cost < 1.0


def test_the_smallest_bound_is_granted_and_a_smaller_one_is_not() -> None:
    scores, right = population(300)
    smallest = smallest_cascade_error(scores, right, COSTS, refused=0.0)
    assert 0.01 < smallest < 0.1
    assert grant_cascade(scores, right, COSTS, smallest).thresholds is not None
    assert grant_cascade(scores, right, COSTS, smallest - 1e-5).thresholds is None
    assert smallest_cascade_error(scores, np.zeros_like(right), COSTS, refused=0.05) == 1.0


def test_equal_arguments_give_equal_thresholds() -> None:
    scores, right = population(500)
    assert grant_cascade(scores, right, COSTS) == grant_cascade(scores.tolist(), right.astype(int).tolist(), COSTS)


def test_nothing_is_granted_where_no_tier_is_good_enough() -> None:
    draw = np.random.default_rng(2)
    granted = grant_cascade(draw.random((300, 2)), draw.random((300, 2)) < 0.5, COSTS)
    assert granted.thresholds is None
    assert granted.kept == (0.0, 0.0)
    assert granted.cost == pytest.approx(1.1)
    assert grant_cascade(np.zeros((1, 1)), np.ones((1, 1)), (0.0, 1.0)).thresholds is None
    assert grant_cascade(np.full((300, 1), np.nan), np.ones((300, 1)), (0.0, 1.0)).thresholds is None


@pytest.mark.parametrize(
    ("scores", "correct", "costs", "message"),
    [
        ([0.5], [True], (0.0, 1.0), "two tables"),
        ([[0.5]], [[True, False]], (0.0, 1.0), "of one shape"),
        ([[0.5], [0.5, 0.6]], [[True], [True]], (0.0, 1.0), "rows of one length"),
        ([[0.5]], [[True]], (0.0, "x"), "costs must be"),
        ([[0.5]], [[2]], (0.0, 1.0), "true and false"),
        ([[0.5]], [[True]], (0.0,), "costs must be 2 numbers"),
        ([[0.5]], [[True]], (0.0, -1.0), "not negative"),
        ([[0.5]], [[True]], (0.0, float("nan")), "not negative"),
    ],
)
def test_other_shapes_and_values_are_refused(
    scores: list[list[float]], correct: list[list[bool]], costs: tuple[float, ...], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        grant_cascade(scores, correct, costs)


def test_shares_outside_of_0_and_1_are_refused() -> None:
    with pytest.raises(ValueError, match="max_error must be a number between 0 and 1"):
        grant_cascade([[0.5]], [[True]], (0.0, 1.0), max_error=1.0)


@pytest.mark.parametrize(
    ("threshold", "kept", "words"),
    [(0.5, 0.2, ""), (0.5, 0.0, "A model that answers nothing costs"), (None, 0.0, "A model without a threshold")],
)
def test_a_model_that_answers_nothing_is_pointed_out(threshold: float | None, kept: float, words: str) -> None:
    tiers = (TierReport("small", 0.8, 0.1, 0.9, 0.7), TierReport("large", 0.9, 0.2, threshold, kept))
    report = CascadeReport("entropy", 1, tiers, True, MAX_ERROR, 0.3, 0.3 - kept, 1.0, 100, 70, 1)
    found = [line for line in cascade_lines(report, Bound(MAX_ERROR, 0.95, "entropy")) if line.startswith("A model")]
    assert [line[: len(words)] for line in found] == [words] * bool(words)

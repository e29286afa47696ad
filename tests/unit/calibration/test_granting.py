"""Thresholds with a bound: the guarantee, its statistical tests, and invalid input."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.escalation.bound import SHAPES, Population, calibrate_often
from cactus_actors.calibration import grant, grant_by_group
from cactus_actors.calibration.granting import critical_sizes

NAN = float("nan")


def binomial_tail(allowed: int, size: int, chance: float) -> float:
    """P(Binomial(size, chance) <= allowed), summed exactly."""
    return math.fsum(math.comb(size, k) * chance**k * (1 - chance) ** (size - k) for k in range(allowed + 1))


def answers(num: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(seed)
    return SHAPES["two normals"](draw, num)


@pytest.mark.parametrize(("max_error", "level"), [(0.05, 0.05), (0.01, 0.1), (0.3, 0.01), (0.9, 0.2)])
def test_critical_sizes_are_the_least_that_pass_the_exact_test(max_error: float, level: float) -> None:
    sizes = critical_sizes(400, max_error, level).tolist()
    assert sizes == sorted(set(sizes))
    for allowed, size in enumerate(sizes):
        assert binomial_tail(allowed, size, max_error) <= level
        assert size == allowed + 1 or binomial_tail(allowed, size - 1, max_error) > level


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("num_labels", [200, 500, 1000])
def test_the_bound_holds(shape: str, num_labels: int) -> None:
    """At most 5 % of calibrations may violate it; 300 of them, so the limit is 5 % and two standard deviations."""
    population = Population(*SHAPES[shape](np.random.default_rng(7), 100_000))
    outcome = calibrate_often(population, num_labels, 300, seed=7)
    assert outcome.violated <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / 300)


def test_the_bound_holds_if_answers_at_every_score_are_wrong_slightly_too_often() -> None:
    """The hardest case: no threshold is allowed, and the scores carry no information."""
    draw = np.random.default_rng(3)
    granted = sum(grant(draw.random(500), draw.random(500) < 0.949).threshold is not None for _ in range(500))
    assert granted <= 500 * 0.05 + 2 * math.sqrt(500 * 0.05 * 0.95)


def test_most_answers_that_an_oracle_keeps_are_kept() -> None:
    kept = {
        name: calibrate_often(Population(*shape(np.random.default_rng(5), 100_000)), 1000, 100, seed=5)
        for name, shape in SHAPES.items()
    }
    assert kept["overconfident"].kept > 0.93
    assert kept["two normals"].kept > 0.86
    assert kept["two normals"].kept > 0.96 * kept["two normals"].limit
    assert kept["with mistakes"].kept > 0.65


def test_the_threshold_keeps_the_reported_answers() -> None:
    scores, right = answers(1000)
    granted = grant(scores, right)
    assert granted.threshold is not None
    stay = scores >= granted.threshold
    assert (granted.num_kept, granted.num_wrong) == (stay.sum(), (~right[stay]).sum())
    assert (granted.num_labels, granted.kept) == (1000, stay.sum() / 1000)
    assert (granted.error_bound, granted.labels_needed) == (0.05, 0)
    assert granted.least_handed_off == pytest.approx(((~right).mean() - 0.05) / 0.95)


def test_order_of_answers_and_scale_of_scores_do_not_matter() -> None:
    scores, right = answers(500)
    granted = grant(scores, right)
    turned = np.random.default_rng(1).permutation(500)
    assert grant(scores[turned], right[turned]) == granted
    scaled = grant(10 * scores + 3, right)
    assert (scaled.num_kept, scaled.num_wrong) == (granted.num_kept, granted.num_wrong)


def test_59_right_answers_are_the_least_for_5_percent() -> None:
    assert grant([0.5] * 58, [True] * 58).threshold is None
    granted = grant([0.5] * 59, [True] * 59)
    assert (granted.threshold, granted.kept) == (0.5, 1.0)


def test_equal_scores_stay_together() -> None:
    scores = [0.9] * 100 + [0.5] * 100 + [0.1] * 10
    granted = grant(scores, [True] * 100 + [False] * 30 + [True] * 70 + [True] * 10)
    assert (granted.threshold, granted.num_kept) == (0.9, 100)


def test_answers_without_a_score_are_never_kept() -> None:
    granted = grant([0.9] * 100 + [NAN] * 100, [True] * 100 + [False] * 100)
    assert (granted.threshold, granted.num_kept, granted.kept) == (0.9, 100, 0.5)
    nothing = grant([NAN] * 100, [True] * 100)
    assert (nothing.threshold, nothing.kept, nothing.error_bound, nothing.labels_needed) == (None, 0.0, 1.0, None)


def test_infinite_scores_are_scores() -> None:
    scores, right = [math.inf] * 60 + [-math.inf] * 60, [True] * 60 + [False] * 60
    assert grant(scores, right).threshold == math.inf
    assert grant(scores, [True] * 120).threshold == -math.inf


def test_a_refusal_has_the_smallest_bound_that_would_be_granted() -> None:
    scores, right = answers(60, seed=2)
    refused = grant(scores, right)
    assert (refused.threshold, refused.kept, refused.num_kept) == (None, 0.0, 0)
    assert 0.05 < refused.error_bound < 1.0
    assert grant(scores, right, refused.error_bound + 1e-4).threshold is not None
    assert grant(scores, right, refused.error_bound - 1e-4).threshold is None


def test_so_many_more_labels_do_most_of_the_time() -> None:
    scores, right = answers(60, seed=2)
    needed = grant(scores, right).labels_needed
    assert needed is not None
    granted = [grant(*answers(60 + needed, seed)).threshold is not None for seed in range(100)]
    assert sum(granted) > 60


def test_no_number_of_labels_helps_against_errors_everywhere() -> None:
    draw = np.random.default_rng(0)
    assert grant(draw.random(500), draw.random(500) < 0.5).labels_needed is None


@pytest.mark.parametrize(("max_error", "enough"), [(0.05, 59), (0.1, 29), (0.3, 9)])
def test_answers_that_are_all_right_need_as_many_more_as_are_enough(max_error: float, enough: int) -> None:
    for num in range(enough):
        assert grant([0.5] * num, [True] * num, max_error).labels_needed == enough - num
    assert grant([0.5] * enough, [True] * enough, max_error).labels_needed == 0
    assert grant([0.5] * 20 + [NAN] * 20, [True] * 40).labels_needed == 2 * 59 - 40


def test_too_few_answers_to_estimate_a_rate_need_as_many_as_any_grant() -> None:
    assert grant([0.9, 0.8, 0.7], [True, False, False]).labels_needed == 59 - 3
    assert grant([0.9, 0.8, 0.7], [False, False, False]).labels_needed is None
    assert grant(list(range(21, 0, -1)), [False] + [True] * 20).labels_needed == 59 - 21


def test_early_errors_of_many_answers_do_not_end_the_sequence() -> None:
    """Of the 100 surest answers 5 are wrong, of the others one in 90."""
    scores, right = list(range(1000, 0, -1)), [number % 20 > 0 for number in range(100)]
    right += [number % 90 > 0 for number in range(900)]
    granted = grant(scores, right)
    assert (granted.num_kept, granted.num_wrong) == (1000, 15)
    assert grant(scores[:500], right[:500]).threshold is None


def test_no_answers_give_no_threshold() -> None:
    nothing = grant([], [])
    assert (nothing.threshold, nothing.kept, nothing.error_bound, nothing.labels_needed) == (None, 0.0, 1.0, 59)


@given(
    st.lists(st.tuples(st.one_of(st.floats(), st.sampled_from([0.25, 0.5])), st.booleans()), max_size=80),
    st.floats(0.01, 0.99),
    st.floats(0.01, 0.99),
)
def test_any_answers_give_a_consistent_grant(
    labelled: list[tuple[float, bool]], max_error: float, confidence: float
) -> None:
    scores, right = np.array([one[0] for one in labelled]), np.array([one[1] for one in labelled], bool)
    granted = grant(scores, right, max_error, confidence)
    assert 0.0 <= granted.kept <= 1.0
    assert 0.0 <= granted.least_handed_off <= 1.0
    if granted.threshold is None:
        assert granted.error_bound >= max_error
        assert granted.labels_needed is None or granted.labels_needed > 0
        return
    stay = scores >= granted.threshold
    assert stay.sum() == granted.num_kept > 0
    assert binomial_tail(granted.num_wrong, granted.num_kept, max_error) <= (1.0 - confidence) * (1 + 1e-9)


def test_groups_are_granted_alone() -> None:
    scores, right = answers(900)
    groups = ["a", "b", "b"] * 300
    found = grant_by_group(scores, right, groups)
    own = np.array([group == "a" for group in groups])
    assert list(found) == ["a", "b"]
    assert found["a"] == grant(scores[own], right[own])
    with pytest.raises(ValueError, match="same length"):
        grant_by_group(scores, right, groups[1:])


@pytest.mark.parametrize(
    ("scores", "right", "max_error", "confidence", "words"),
    [
        ([0.1], [True, False], 0.05, 0.95, "of one shape"),
        ([0.1, "x"], [True, False], 0.05, 0.95, "must hold numbers"),
        ([0.1], [True], "x", 0.95, "max_error must be a number"),
        ([0.1], [True], None, 0.95, "max_error must be a number"),
        ([[0.1]], [[True]], 0.05, 0.95, "of one length"),
        ([0.1], [2], 0.05, 0.95, "true and false"),
        ([0.1], [NAN], 0.05, 0.95, "true and false"),
        ([0.1], [True], 0.0, 0.95, "max_error must be"),
        ([0.1], [True], NAN, 0.95, "max_error must be"),
        ([0.1], [True], 0.05, 1.0, "confidence must be"),
    ],
)
def test_input_that_cannot_be_right_is_refused(
    scores: list[Any], right: list[Any], max_error: Any, confidence: float, words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        grant(scores, right, max_error, confidence)

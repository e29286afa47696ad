"""Thresholds of a cascade, chosen together for the least cost under a bound on the share of wrong answers that stay.

The method is Pareto Testing (Laufer-Goldshtein et al., arXiv 2210.07913): a part of the labelled questions orders
combinations of thresholds, the others test them one after the other. So that few labels order them well, the errors of
a combination are not counted but expected, by a logistic regression for each tier on the ranks of its scores.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cactus_actors.calibration.fitting import NUM_STEPS, RIDGE, logistic_regression
from cactus_actors.calibration.granting import (
    allowed_errors,
    check_shares,
    checked_labels,
    critical_sizes,
    is_number,
    smallest_error,
)

DESIGN_SHARE = 0.2
"""The share of the questions that orders the combinations."""
MAX_COMBINATIONS = 1000
SEED = 0
"""Of the order in which questions are assigned to the two parts."""

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class CascadeGrant:
    """The bound that holds for the answers of all tiers before the last step together.

    thresholds: one per tier; a question goes to the next tier if its score is below. None if nothing can be granted.
    kept: the share of the test questions that each tier answers.
    cost: the mean cost of a test question.
    num_tested, num_kept, num_wrong: test questions, those that some tier answers, and the wrong answers among these.
    """

    thresholds: tuple[float, ...] | None
    kept: tuple[float, ...]
    cost: float
    num_tested: int
    num_kept: int
    num_wrong: int


@dataclass(frozen=True, slots=True)
class CascadeOutcome:
    """What thresholds do to a set of questions: the questions that each tier answers, the wrong answers of all of them,
    and the mean cost.
    """

    thresholds: tuple[float, ...]
    num_answered: tuple[int, ...]
    num_wrong: int
    cost: float

    @property
    def num_kept(self) -> int:
        return sum(self.num_answered)


def grant_cascade(
    scores: Sequence[Sequence[float]] | npt.NDArray[Any],
    correct: Sequence[Sequence[bool]] | npt.NDArray[Any],
    costs: Sequence[float],
    max_error: float = 0.05,
    confidence: float = 0.95,
) -> CascadeGrant:
    """The thresholds of least cost whose kept answers are wrong with a probability of at most `max_error`.

    A question is asked of the first tier, and of the next one as long as the score is below the tier's threshold; the
    last step, such as the cloud, answers what no tier keeps, and its answers are not judged. The bound holds with
    probability `confidence` over the draw of the questions, which must be independent. A score NaN is below every
    threshold.

    Args:
        scores: (questions, tiers), a higher score means more confidence.
        correct: (questions, tiers), true or 1 for a right answer.
        costs: (tiers + 1,), of asking each tier, and last of the last step.
        max_error: within (0, 1).
        confidence: within (0, 1).

    Raises:
        ValueError: for other shapes or values.
    """
    values, right = _checked(scores, correct, costs, max_error, confidence)
    order = np.random.default_rng(SEED).permutation(len(values))
    num_design = int(DESIGN_SHARE * len(values))
    design, test = order[:num_design], order[num_design:]
    nothing = CascadeGrant(None, (0.0,) * values.shape[1], float(sum(costs)), len(test), 0, 0)
    if not num_design:
        return nothing
    critical = critical_sizes(len(test), max_error, 1.0 - confidence)
    allowed = allowed_errors(critical, np.arange(len(test) + 1))
    granted: CascadeOutcome | None = None
    for thresholds in _sequence(values[design], right[design], costs, max_error):
        outcome = outcome_of(values[test], right[test], costs, thresholds)
        if outcome.num_wrong > allowed[outcome.num_kept]:
            break
        if granted is None or outcome.cost < granted.cost:
            granted = outcome
    if granted is None:
        return nothing
    kept = tuple(num / len(test) for num in granted.num_answered)
    return CascadeGrant(granted.thresholds, kept, granted.cost, len(test), granted.num_kept, granted.num_wrong)


def smallest_cascade_error(
    scores: Sequence[Sequence[float]] | npt.NDArray[Any],
    correct: Sequence[Sequence[bool]] | npt.NDArray[Any],
    costs: Sequence[float],
    refused: float,
    confidence: float = 0.95,
) -> float:
    """About the smallest `max_error` above `refused` that `grant_cascade` grants, an estimate; 1 without any."""
    return smallest_error(
        lambda each: grant_cascade(scores, correct, costs, each, confidence).thresholds is not None, refused
    )


def _chances_of_error(values: Floats, right: Bools) -> Floats:
    """The chance that the answer of each tier to each question is wrong, (questions, tiers).

    One right and one wrong answer of medium rank count in addition, so that few answers are not certain.
    """
    chances = np.empty(values.shape)
    for tier in range(values.shape[1]):
        ranks = _standardised_ranks(values[:, tier])[:, None]
        features = np.concatenate([ranks, np.zeros((2, 1))])
        target = np.concatenate([right[:, tier], [1.0, 0.0]])
        bias, weights = logistic_regression(features, target, RIDGE, NUM_STEPS)
        chances[:, tier] = 1.0 / (1.0 + np.exp(bias + ranks @ weights))
    return chances


def _standardised_ranks(scores: Floats) -> Floats:
    """The ranks of scores, NaN first, with a mean of 0 and a variance of 1."""
    known = np.where(np.isnan(scores), -np.inf, scores)
    ranks = np.argsort(np.argsort(known, kind="stable"), kind="stable")
    standardised: Floats = ((ranks + 0.5) / len(scores) - 0.5) * 12.0**0.5
    return standardised


class _Candidate(NamedTuple):
    """Thresholds with their mean cost and the evidence that their error is small enough."""

    thresholds: tuple[float, ...]
    cost: float
    evidence: float


def _sequence(values: Floats, right: Bools, costs: Sequence[float], max_error: float) -> list[tuple[float, ...]]:
    """The combinations that no other one beats in both cost and evidence, those with the most evidence first."""
    chances = _chances_of_error(values, right)
    found = [_candidate(values, chances, costs, max_error, each) for each in combinations(values)]
    found.sort(key=lambda one: (one.cost, -one.evidence))
    front: list[_Candidate] = []
    for candidate in found:
        if not front or candidate.evidence > front[-1].evidence:
            front.append(candidate)
    return [candidate.thresholds for candidate in reversed(front)]


def _candidate(
    values: Floats, chances_of_error: Floats, costs: Sequence[float], max_error: float, thresholds: tuple[float, ...]
) -> _Candidate:
    """The evidence is in standard deviations of as many errors as `max_error` allows."""
    answered = list(_answered(values, thresholds))
    num_kept = sum(int(mask.sum()) for mask in answered)
    num_wrong = sum(float(chances_of_error[mask, tier].sum()) for tier, mask in enumerate(answered))
    expected = num_kept * max_error
    spread = (expected * (1.0 - max_error)) ** 0.5
    evidence = (expected - num_wrong - 0.5) / spread if spread else -1.0
    return _Candidate(thresholds, _mean_cost(answered, costs), evidence)


def combinations(values: Floats) -> list[tuple[float, ...]]:
    """Thresholds at quantiles of the scores (questions, tiers) of each tier, and above all, in all combinations."""
    num_tiers = values.shape[1]
    num_levels = max(2, int(MAX_COMBINATIONS ** (1.0 / num_tiers)))
    levels = []
    for tier in range(num_tiers):
        known = values[~np.isnan(values[:, tier]), tier]
        quantiles = np.quantile(known, np.linspace(0.0, 1.0, num_levels), method="higher") if len(known) else []
        levels.append([*np.unique(quantiles).tolist(), np.inf])
    return list(product(*levels))


def outcome_of(values: Floats, right: Bools, costs: Sequence[float], thresholds: tuple[float, ...]) -> CascadeOutcome:
    """The outcome for questions with these scores and verdicts; the arguments are those of `grant_cascade`."""
    answered = list(_answered(values, thresholds))
    return CascadeOutcome(
        thresholds,
        tuple(int(mask.sum()) for mask in answered),
        sum(int((mask & ~right[:, tier]).sum()) for tier, mask in enumerate(answered)),
        _mean_cost(answered, costs),
    )


def _answered(values: Floats, thresholds: tuple[float, ...]) -> Iterator[Bools]:
    """For each tier the questions that it answers."""
    waiting = np.ones(len(values), np.bool_)
    for tier, threshold in enumerate(thresholds):
        answered = waiting & (values[:, tier] >= threshold)
        yield answered
        waiting &= ~answered


def _mean_cost(answered: Sequence[Bools], costs: Sequence[float]) -> float:
    """The mean cost of a question: each is asked of every tier up to the one that answers it."""
    waiting = num_questions = len(answered[0])
    cost = 0.0
    for mask, own in zip(answered, costs, strict=False):
        cost += own * waiting
        waiting -= int(mask.sum())
    return (cost + costs[-1] * waiting) / num_questions


def _checked(
    scores: Sequence[Sequence[float]] | npt.NDArray[Any],
    correct: Sequence[Sequence[bool]] | npt.NDArray[Any],
    costs: Sequence[float],
    max_error: float,
    confidence: float,
) -> tuple[Floats, Bools]:
    values, right = checked_labels(scores, correct)
    if values.ndim != 2 or not values.shape[1]:
        raise ValueError(f"scores and correct must be two tables (questions, tiers), not of the shape {values.shape}")
    if len(costs) != values.shape[1] + 1 or not all(is_number(cost) and 0.0 <= cost < np.inf for cost in costs):
        raise ValueError(f"costs must be {values.shape[1] + 1} numbers that are not negative, not {list(costs)}")
    check_shares(max_error, confidence)
    return values, right

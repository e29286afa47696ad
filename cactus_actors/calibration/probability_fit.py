"""Fits the probability that an answer is right to the scores of judged answers, and measures calibration."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from cactus_actors.calibration.fitting import MIN_EACH, cross_validated
from cactus_actors.protocol.confidence import FittedSignalName, Probability

PRIOR_ANSWERS = 1.0
"""Each point counts this number of answers with the share of right ones of all, so that no point is 0 or 1."""
NUM_BINS = 10


def fitted_probability(signal: FittedSignalName, scores: Sequence[float], right: Sequence[bool]) -> Probability | None:
    """The isotonic regression of `right` on the scores of `signal`, linear between the centres of its steps.

    The steps are those of the algorithm of adjacent violators (Ayer et al. 1955). None with fewer than MIN_EACH right
    or wrong answers.
    """
    if min(sum(right), len(right) - sum(right)) < MIN_EACH:
        return None
    order = np.argsort(scores, kind="stable")
    values = np.asarray(scores, np.float64)[order]
    labels = np.asarray(right, np.float64)[order]
    levels, first = np.unique(values, return_index=True)
    sizes = np.diff(np.append(first, len(values))).astype(np.float64)
    steps: list[tuple[float, float, float]] = []  # answers, right ones, sum of scores
    for level, size, num_right in zip(levels, sizes, np.add.reduceat(labels, first), strict=True):
        step = (float(size), float(num_right), float(level * size))
        while steps and steps[-1][1] * step[0] >= step[1] * steps[-1][0]:
            before = steps.pop()
            step = (before[0] + step[0], before[1] + step[1], before[2] + step[2])
        steps.append(step)
    share = float(labels.mean())
    chances = [(wins + PRIOR_ANSWERS * share) / (size + PRIOR_ANSWERS) for size, wins, _ in steps]
    return Probability(
        signal=signal,
        scores=[total / size for size, _, total in steps],
        probabilities=np.maximum.accumulate(chances).tolist(),
    )


def cross_validated_fits(
    signal: FittedSignalName, scores: Sequence[float], right: Sequence[bool]
) -> list[Probability] | None:
    """For each answer a fit without it; None if there are too few answers."""
    return cross_validated(partial(fitted_probability, signal), scores, right)


def calibration_error(probabilities: Sequence[float], right: Sequence[bool]) -> float:
    """The expected calibration error (ECE; Naeini et al. 2015), of at least one answer.

    The mean difference between the probability and the share of right answers in NUM_BINS bins of equal width,
    weighted by their answers.
    """
    values, labels = np.asarray(probabilities, np.float64), np.asarray(right, np.float64)
    bins = np.minimum((values * NUM_BINS).astype(np.int64), NUM_BINS - 1)
    differences = np.bincount(bins, values - labels, minlength=NUM_BINS)
    return float(np.abs(differences).sum()) / len(values)

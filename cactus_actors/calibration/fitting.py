"""Fits a confidence probe to judged answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from cactus_actors.protocol.confidence import Probe

RIDGE = 1.0
"""The ridge penalty on weights of standardised features; keeps them finite for separable data."""
NUM_STEPS = 50
MIN_EACH = 10
NUM_FOLDS = 5

Floats = npt.NDArray[np.float64]
Fit = TypeVar("Fit")
Score = TypeVar("Score")


def fitted_probe(features: Sequence[Sequence[float]], right: Sequence[bool]) -> Probe | None:
    """The logistic regression of `right` on the `probe_features` of answers, by Newton's method.

    None with fewer than MIN_EACH right or wrong answers.
    """
    if min(sum(right), len(right) - sum(right)) < MIN_EACH:
        return None
    raw = np.asarray(features, np.float64)  # (answers, features)
    target = np.asarray(right, np.float64)
    mean, spread = raw.mean(0), raw.std(0) + 1e-9
    constant, weights = logistic_regression((raw - mean) / spread, target, RIDGE, NUM_STEPS)
    slopes = (weights / spread).tolist()
    bias = constant - sum(slope * float(centre) for slope, centre in zip(slopes, mean, strict=True))
    names = ("entropy_mean", "entropy_max", "surprise_mean", "surprise_max", "length")
    return Probe(bias=bias, **dict(zip(names, slopes, strict=True)))


def logistic_regression(features: Floats, target: Floats, ridge: float, num_steps: int) -> tuple[float, Floats]:
    """The bias and the weights of a logistic regression, by Newton's method; `ridge` is the penalty on the weights."""
    rows = np.column_stack([np.ones(len(features)), features])
    penalty = ridge * np.diag([0.0, *np.ones(features.shape[1])])
    weights: Floats = np.zeros(rows.shape[1])
    for _ in range(num_steps):
        chance = 1.0 / (1.0 + np.exp(np.clip(-rows @ weights, -500, 500)))
        gradient = rows.T @ (target - chance) - penalty @ weights
        curvature = (rows * (chance * (1 - chance) + 1e-9)[:, None]).T @ rows + penalty
        weights = weights + np.linalg.solve(curvature, gradient)
    return float(weights[0]), weights[1:]


def cross_validated_probes(features: Sequence[Sequence[float]], right: Sequence[bool]) -> list[Probe] | None:
    """For each answer a probe that was fitted without it; None if there are too few answers."""
    return cross_validated(fitted_probe, features, right)


def cross_validated(
    fit: Callable[[list[Score], list[bool]], Fit | None], scores: Sequence[Score], right: Sequence[bool]
) -> list[Fit] | None:
    """For each answer a fit to the answers of all folds but its own; None if one of them has too few answers."""
    fits = []
    for fold in range(NUM_FOLDS):
        others = [place for place in range(len(right)) if place % NUM_FOLDS != fold]
        fitted = fit([scores[place] for place in others], [right[place] for place in others])
        if fitted is None:
            return None
        fits.append(fitted)
    return [fits[place % NUM_FOLDS] for place in range(len(right))]

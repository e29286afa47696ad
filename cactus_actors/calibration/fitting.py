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


GateFeatures = Sequence[Sequence[float]]
"""The `probe_features` of one answer at each gate that judges it, (gates, features)."""


def fitted_probe(features: Sequence[GateFeatures], right: Sequence[bool]) -> Probe | None:
    """The logistic regression of `right` on the features of answers at their gates, by Newton's method.

    The gates of an answer together weigh as much as those of any other, so that the value estimates the probability
    that the answer is right at all of them, however few tokens an early one judges. None with fewer than MIN_EACH right
    or wrong answers.
    """
    if min(sum(right), len(right) - sum(right)) < MIN_EACH:
        return None
    num_gates = np.array([len(gates) for gates in features])
    raw = np.array([gate for gates in features for gate in gates], np.float64)  # (gates of all answers, features)
    target = np.repeat(np.asarray(right, np.float64), num_gates)
    mean, spread = raw.mean(0), raw.std(0) + 1e-9
    shares = np.repeat(1.0 / num_gates, num_gates)
    constant, weights = logistic_regression((raw - mean) / spread, target, RIDGE, NUM_STEPS, shares)
    slopes = (weights / spread).tolist()
    bias = constant - sum(slope * float(centre) for slope, centre in zip(slopes, mean, strict=True))
    names = ("entropy_mean", "entropy_max", "surprise_mean", "surprise_max", "length")
    return Probe(bias=bias, **dict(zip(names, slopes, strict=True)))


def logistic_regression(
    features: Floats, target: Floats, ridge: float, num_steps: int, shares: Floats | None = None
) -> tuple[float, Floats]:
    """The bias and the weights of a logistic regression, by Newton's method; `ridge` is the penalty on the weights.

    A row of `features` counts as the part of a sample that `shares` has for it, by default as one.
    """
    counted = np.ones(len(features)) if shares is None else shares
    rows = np.column_stack([np.ones(len(features)), features])
    penalty = ridge * np.diag([0.0, *np.ones(features.shape[1])])
    weights: Floats = np.zeros(rows.shape[1])
    for _ in range(num_steps):
        chance = 1.0 / (1.0 + np.exp(np.clip(-rows @ weights, -500, 500)))
        gradient = rows.T @ (counted * (target - chance)) - penalty @ weights
        curvature = (rows * (counted * chance * (1 - chance) + 1e-9)[:, None]).T @ rows + penalty
        weights = weights + np.linalg.solve(curvature, gradient)
    return float(weights[0]), weights[1:]


def cross_validated_probes(features: Sequence[GateFeatures], right: Sequence[bool]) -> list[Probe] | None:
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

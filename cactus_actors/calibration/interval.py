"""Confidence intervals of a proportion."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

CONFIDENCE = 0.95
NUM_HALVINGS = 60


class Interval(NamedTuple):
    """An interval within [0, 1]."""

    low: float
    high: float


def exact_interval(num_right: int, num: int, confidence: float = CONFIDENCE) -> Interval:
    """The Clopper-Pearson interval for `num_right` of `num`.

    It covers the true probability with at least `confidence`, if the answers were not selected by correctness. For
    no answers it is [0, 1]. Source: Clopper and Pearson, Biometrika 26 (1934), 404.
    """
    if num == 0:
        return Interval(0.0, 1.0)
    tail = (1.0 - confidence) / 2.0
    low = 0.0 if num_right == 0 else _chance_of_at_least(num_right, num, tail)
    high = 1.0 if num_right == num else 1.0 - _chance_of_at_least(num - num_right, num, tail)
    return Interval(low, high)


def _chance_of_at_least(count: int, num: int, probability: float) -> float:
    """The success probability for which at least `count` of `num` occur with `probability`."""
    outcomes = np.arange(count, num + 1)
    ways = math.lgamma(num + 1) - np.array(
        [math.lgamma(one + 1) + math.lgamma(num - one + 1) for one in outcomes.tolist()]
    )
    low, high = 0.0, 1.0
    for _ in range(NUM_HALVINGS):
        chance = (low + high) / 2.0
        terms = ways + outcomes * math.log(chance) + (num - outcomes) * math.log1p(-chance)
        if float(np.exp(terms).sum()) > probability:
            high = chance
        else:
            low = chance
    return low

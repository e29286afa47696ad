"""What so many right answers of so many say about the chance of a right one."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

CONFIDENCE = 0.95
NUM_HALVINGS = 60


class Interval(NamedTuple):
    """Both ends are in [0, 1]."""

    low: float
    high: float


def exact_interval(num_right: int, num: int, confidence: float = CONFIDENCE) -> Interval:
    """The interval of Clopper and Pearson: of the chances for which `num_right` of `num` is no rare outcome.

    It covers the true chance at least as often as `confidence`, for answers that were not chosen by whether
    they are right. Of no answers it is everything. Source: Clopper and Pearson, Biometrika 26 (1934), 404.
    """
    if num == 0:
        return Interval(0.0, 1.0)
    tail = (1.0 - confidence) / 2.0
    low = 0.0 if num_right == 0 else _chance_of_at_least(num_right, num, tail)
    high = 1.0 if num_right == num else 1.0 - _chance_of_at_least(num - num_right, num, tail)
    return Interval(low, high)


def _chance_of_at_least(count: int, num: int, probability: float) -> float:
    """The chance under which `count` or more of `num` come with that probability."""
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

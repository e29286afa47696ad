"""AUROC of a score for right and wrong answers, thresholds on it, and confidence intervals of shares."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

CONFIDENCE = 0.95
NUM_HALVINGS = 60


class Interval(NamedTuple):
    """An interval within [0, 1]."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Cut:
    """The effect of a threshold on a sample: answers with a lower score are handed off, the others stay.

    Of `num_answers`, `num_kept` stay, of which `num_right` are right.
    """

    threshold: float
    num_answers: int
    num_kept: int
    num_right: int

    @property
    def handed_off(self) -> float:
        """The share of the sample that is handed off."""
        return 1.0 - self.num_kept / self.num_answers

    @property
    def accuracy(self) -> float:
        """The share of right answers among those that stay: an estimate for other samples."""
        return self.num_right / self.num_kept

    @property
    def interval(self) -> Interval:
        """The confidence interval of the precision, valid for a threshold that was not chosen on these answers."""
        return exact_interval(self.num_right, self.num_kept)


def exact_interval(num_right: int, num: int) -> Interval:
    """The Clopper-Pearson interval for `num_right` of `num`.

    It covers the true probability with at least CONFIDENCE, if the answers were not selected by correctness. For
    no answers it is [0, 1]. Source: Clopper and Pearson, Biometrika 26 (1934), 404.
    """
    if num == 0:
        return Interval(0.0, 1.0)
    tail = (1.0 - CONFIDENCE) / 2.0
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


def area_under_curve(scores: Sequence[float], right: Sequence[bool]) -> float | None:
    """The AUROC: the probability that a right answer scores above a wrong one, ties counting half.

    None without both right and wrong answers.
    """
    ranked = sorted(zip(scores, right, strict=True))
    num_right = sum(right)
    num_wrong = len(right) - num_right
    if not num_right or not num_wrong:
        return None
    rank_sum, place = 0.0, 0
    while place < len(ranked):
        end = place
        while end < len(ranked) and ranked[end][0] == ranked[place][0]:
            end += 1
        mean_rank = (place + 1 + end) / 2
        rank_sum += mean_rank * sum(is_true for _, is_true in ranked[place:end])
        place = end
    return (rank_sum - num_right * (num_right + 1) / 2) / (num_right * num_wrong)


def cuts(scores: Sequence[float], right: Sequence[bool]) -> list[Cut]:
    """Every distinct cut, from handing off nothing (threshold 0) to all but the most confident answers."""
    ranked = sorted(zip(scores, right, strict=True))
    total, num_right = len(ranked), sum(right)
    found = [Cut(0.0, total, total, num_right)]
    for place in range(1, total):
        num_right -= ranked[place - 1][1]
        below, above = ranked[place - 1][0], ranked[place][0]
        if below < above:
            threshold = readable_threshold(below, above)
            found.append(Cut(threshold, total, total - place, num_right))
    return found


def cut_for_precision(scores: Sequence[float], right: Sequence[bool], precision: float) -> Cut | None:
    """The cut that hands off least among those that reach `precision` in this sample.

    This is an estimate and no bound: the cut is chosen and evaluated on the same answers, so that in about half of
    all cases other questions have a lower precision.
    """
    return next((cut for cut in cuts(scores, right) if cut.accuracy >= precision), None)


def surest_cut(scores: Sequence[float], right: Sequence[bool]) -> Cut:
    """The cut with the highest precision in this sample; of several the one that hands off least."""
    return max(cuts(scores, right), key=lambda cut: (cut.accuracy, cut.num_kept))


def cut_for_share(scores: Sequence[float], right: Sequence[bool], share: float) -> Cut:
    """The cut that hands off most, but at most `share`."""
    most = share * len(right)
    return [cut for cut in cuts(scores, right) if cut.num_answers - cut.num_kept <= most][-1]


def readable_threshold(below: float, above: float) -> float:
    """A number in (below, above] with as few digits as possible."""
    for digits in range(2, 17):
        threshold = round((below + above) / 2, digits)
        if below < threshold <= above:
            return threshold
    return above


def shortest_threshold(threshold: float, scores: Sequence[float]) -> float:
    """A threshold with as few digits as possible that keeps the same of these scores; 0 if it keeps all."""
    below = max((score for score in scores if score < threshold), default=None)
    return 0.0 if below is None else readable_threshold(below, threshold)


@dataclass(frozen=True, slots=True)
class ThresholdTarget:
    """The target of a threshold in the sample: a `precision`, or a `share` that is handed off."""

    precision: float | None = None
    share: float | None = None

    def cut(self, scores: Sequence[float], right: Sequence[bool]) -> Cut | None:
        """The cut that reaches the target, None if there is none."""
        if self.share is not None:
            return cut_for_share(scores, right, self.share)
        return cut_for_precision(scores, right, self.precision if self.precision is not None else 1.0)

    def worth(self, cut: Cut | None) -> float:
        """The share that the target leaves open: of answers that stay, or of right ones among them; -1 without cut."""
        if cut is None:
            return -1.0
        return cut.accuracy if self.share is not None else cut.num_kept / cut.num_answers

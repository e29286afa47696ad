"""How well a score tells right from wrong, and where to cut it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cactus_actors.calibration.interval import Interval, exact_interval


@dataclass(frozen=True, slots=True)
class Cut:
    """What a threshold does to a sample: answers whose score is below it are handed off, the others stay.

    `num_right` of the `num_kept` that stay of `num_answers` are right.
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
        """How often those that stay are right: an estimate of what they will be elsewhere."""
        return self.num_right / self.num_kept

    @property
    def interval(self) -> Interval:
        """Where the precision of this threshold is, if it had not been chosen by these answers."""
        return exact_interval(self.num_right, self.num_kept)


def area_under_curve(scores: Sequence[float], right: Sequence[bool]) -> float | None:
    """The chance that a right answer scores above a wrong one, ties counting half.

    None where there are not both right and wrong ones.
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
    """Every cut that can be made, from handing off nothing (threshold 0) to all but the surest."""
    ranked = sorted(zip(scores, right, strict=True))
    total, num_right = len(ranked), sum(right)
    found = [Cut(0.0, total, total, num_right)]
    for place in range(1, total):
        num_right -= ranked[place - 1][1]
        below, above = ranked[place - 1][0], ranked[place][0]
        if below < above:
            threshold = _between(below, above)
            found.append(Cut(threshold, total, total - place, num_right))
    return found


def cut_for_precision(scores: Sequence[float], right: Sequence[bool], precision: float) -> Cut | None:
    """The cut that hands off least among those whose rest is right as often as `precision` in this sample.

    That is an estimate, and no bound: the cut is chosen by the very answers that it is judged by, so that
    about as often as not the rest of other questions is right less often.
    """
    return next((cut for cut in cuts(scores, right) if cut.accuracy >= precision), None)


def surest_cut(scores: Sequence[float], right: Sequence[bool]) -> Cut:
    """The cut whose rest is right most often in this sample; of several the one that hands off least."""
    return max(cuts(scores, right), key=lambda cut: (cut.accuracy, cut.num_kept))


def cut_for_share(scores: Sequence[float], right: Sequence[bool], share: float) -> Cut:
    """The cut that hands off most, but no more than `share`."""
    most = share * len(right)
    return [cut for cut in cuts(scores, right) if cut.num_answers - cut.num_kept <= most][-1]


def _between(below: float, above: float) -> float:
    """A number above one and not above the other, with as few digits as there may be."""
    for digits in range(2, 17):
        threshold = round((below + above) / 2, digits)
        if below < threshold <= above:
            return threshold
    return above

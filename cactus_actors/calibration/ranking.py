"""How well a score tells right from wrong, and where to cut it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cut:
    """What a threshold does: answers whose score is below it are handed off, the others stay.

    Shares are in [0, 1]; `accuracy` is of those that stay, 1 where none does.
    """

    threshold: float
    handed_off: float
    accuracy: float


def area_under_curve(scores: Sequence[float], right: Sequence[bool]) -> float:
    """The chance that a right answer scores above a wrong one, ties counting half; 0.5 if all are alike."""
    ranked = sorted(zip(scores, right, strict=True))
    num_right = sum(right)
    num_wrong = len(right) - num_right
    if not num_right or not num_wrong:
        return 0.5
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
    found = [Cut(0.0, 0.0, num_right / total)]
    for place in range(1, total):
        num_right -= ranked[place - 1][1]
        below, above = ranked[place - 1][0], ranked[place][0]
        if below < above:
            threshold = _between(below, above)
            found.append(Cut(threshold, place / total, num_right / (total - place)))
    return found


def cut_for_precision(scores: Sequence[float], right: Sequence[bool], precision: float) -> Cut | None:
    """The cut that hands off least among those whose rest is right as often as `precision`."""
    return next((cut for cut in cuts(scores, right) if cut.accuracy >= precision), None)


def cut_for_share(scores: Sequence[float], right: Sequence[bool], share: float) -> Cut:
    """The cut that hands off most, but no more than `share`."""
    return [cut for cut in cuts(scores, right) if cut.handed_off <= share][-1]


def _between(below: float, above: float) -> float:
    """A number above one and not above the other, with as few digits as there may be."""
    for digits in range(2, 17):
        threshold = round((below + above) / 2, digits)
        if below < threshold <= above:
            return threshold
    return above

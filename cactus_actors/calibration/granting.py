"""Thresholds with a bound on the share of wrong answers among the kept ones, at a confidence level.

The method is Learn then Test (Angelopoulos et al., arXiv 2110.01052) with fixed-sequence testing and exact binomial
tails, as in selective evaluation with a guarantee (Jung et al., arXiv 2407.18370). With many labels the sequence has a
second start, to which a part of the level is reserved (the fallback procedure of Wiens, Pharmaceutical Statistics 2
(2003), 211): some early errors of a signal that is too sure do not end it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

ERRORS_PER_SKIPPED_TEST = 25
"""The sequence starts one test later for each such number of errors that `max_error` allows among all answers: a
later start is less often stopped by a single early error, an earlier one is needed if only few answers can be kept."""
SECOND_START = 0.3
"""The second start: the test with this share of the errors that `max_error` allows among all answers."""
SECOND_LEVEL = 0.2
"""The share of the level that is reserved to the second start."""
MIN_ERRORS_TO_RESTART = 40
"""A sequence has a second start if `max_error` allows so many errors among all answers."""
NUM_HALVINGS = 20
DETECTABLE_POWER = 0.8
"""The probability of a grant for which `labels_needed` is estimated."""

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Grant:
    """The bound that holds for the answers whose score is at least `threshold`.

    threshold: None if nothing can be granted. Keep an answer exactly if `score >= threshold`.
    kept: the share of the labelled answers that is kept, 0 if nothing can be granted.
    error_bound: the probability that a kept answer is wrong is at most this, at `confidence`: `max_error`. If
        nothing can be granted, the smallest `max_error` that these labels would have been granted, an estimate.
    labels_needed: 0 if granted; else about how many more labels of the same kind would be enough; None if no number
        would. If all labelled answers are right, exactly as many as are enough if all others are right, too; else an
        estimate from the errors among them, which is rough for few labels.
    """

    threshold: float | None
    kept: float
    error_bound: float
    labels_needed: int | None
    max_error: float
    confidence: float
    num_labels: int
    num_kept: int
    num_wrong: int
    """Of `num_kept`."""
    least_handed_off: float
    """The share of these answers that any signal, even one without mistakes, hands off to keep `max_error`."""


def grant(
    scores: Sequence[float] | npt.NDArray[Any],
    correct: Sequence[bool] | npt.NDArray[Any],
    max_error: float = 0.05,
    confidence: float = 0.95,
) -> Grant:
    """The lowest threshold whose kept answers are wrong with a probability of at most `max_error`.

    The bound holds with probability `confidence` over the draw of the labelled answers. It requires that they are
    drawn independently, like the answers that it is made for, and that a higher score is not a worse one: as the
    threshold falls, the error of kept answers passes `max_error` once. The scores must not have been fitted to these
    labels, and of several signals one must be chosen before the labels are seen.

    Answers of one score stay together. An answer with the score NaN is never kept, and counts as handed off.

    Args:
        scores: (answers,), a higher score means more confidence.
        correct: (answers,), true or 1 for a right answer.
        max_error: within (0, 1).
        confidence: within (0, 1).

    Raises:
        ValueError: for other shapes or values.
    """
    values, wrong = _checked(scores, correct, max_error, confidence)
    sizes, num_wrong, thresholds = _regions(values, wrong)
    level = 1.0 - confidence
    granted = _last_granted(sizes, num_wrong, max_error, level)
    error_bound = max_error
    if granted is None:
        error_bound = smallest_error(lambda each: _last_granted(sizes, num_wrong, each, level) is not None, max_error)
    share_wrong = float(wrong.mean()) if len(wrong) else 0.0
    return Grant(
        threshold=None if granted is None else float(thresholds[granted]),
        kept=0.0 if granted is None else float(sizes[granted]) / len(values),
        error_bound=error_bound,
        labels_needed=_labels_needed(sizes, num_wrong, len(values), max_error, level) if granted is None else 0,
        max_error=max_error,
        confidence=confidence,
        num_labels=len(values),
        num_kept=0 if granted is None else int(sizes[granted]),
        num_wrong=0 if granted is None else int(num_wrong[granted]),
        least_handed_off=max(0.0, (share_wrong - max_error) / (1.0 - max_error)),
    )


def grant_by_group(
    scores: Sequence[float] | npt.NDArray[Any],
    correct: Sequence[bool] | npt.NDArray[Any],
    groups: Sequence[Hashable],
    max_error: float = 0.05,
    confidence: float = 0.95,
) -> dict[Hashable, Grant]:
    """A grant for each group by its own answers, in the order of first occurrence.

    Each bound holds with `confidence` by itself. Raises ValueError as `grant` does.
    """
    if not len(scores) == len(correct) == len(groups):
        raise ValueError("scores, correct and groups must have the same length")
    places: dict[Hashable, list[int]] = {}
    for place, group in enumerate(groups):
        places.setdefault(group, []).append(place)
    values, labels = np.asarray(scores), np.asarray(correct)
    return {group: grant(values[own], labels[own], max_error, confidence) for group, own in places.items()}


def critical_sizes(num_answers: int, max_error: float, level: float) -> Counts:
    """Entry w is the least number of answers of which w may be wrong: P(Binomial(size, max_error) <= w) <= level.

    Sizes above `num_answers` are left out.
    """
    odds = max_error / (1.0 - max_error)
    sizes: list[int] = []
    allowed, mass, tail = 0, 1.0, 1.0  # P(X = allowed) and P(X <= allowed) for X of `size` answers
    for size in range(1, num_answers + 1):
        tail -= max_error * mass
        mass *= (1.0 - max_error) * size / (size - allowed)
        while tail <= level and allowed < size:
            sizes.append(size)
            mass *= (size - allowed) / (allowed + 1) * odds
            allowed += 1
            tail += mass
    return np.array(sizes, np.int64)


def allowed_errors(critical: Counts, sizes: Counts) -> Counts:
    """The most wrong answers with which each size passes the test of `critical_sizes`; -1 if it never does."""
    return np.searchsorted(critical, sizes, side="right") - 1


def smallest_error(is_granted: Callable[[float], bool], refused: float) -> float:
    """About the smallest error above `refused` that is granted; 1 without any."""
    low, high = refused, 1.0
    for _ in range(NUM_HALVINGS):
        middle = (low + high) / 2.0
        if is_granted(middle):
            high = middle
        else:
            low = middle
    return high


def check_shares(max_error: float, confidence: float) -> None:
    """Raise ValueError unless both are between 0 and 1."""
    for name, share in (("max_error", max_error), ("confidence", confidence)):
        if not (is_number(share) and 0.0 < share < 1.0):
            raise ValueError(f"{name} must be a number between 0 and 1, and neither: it is {share!r}")


def is_number(value: object) -> bool:
    """True for an int or a float, those of numpy included."""
    return isinstance(value, int | float | np.number)


def checked_labels(scores: Any, correct: Any) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Scores and verdicts as arrays; raise ValueError if they are no numbers, ragged or of different shapes."""
    try:
        values, labels = np.asarray(scores, np.float64), np.asarray(correct)
    except (TypeError, ValueError):
        raise ValueError("scores must hold numbers, and correct verdicts, with rows of one length") from None
    if values.shape != labels.shape:
        raise ValueError(f"scores and correct must be of one shape, not {values.shape} and {labels.shape}")
    if not np.isin(labels, (0, 1)).all():
        raise ValueError("correct must hold true and false, or 1 and 0")
    return values, labels.astype(bool)


def _checked(
    scores: Sequence[float] | npt.NDArray[Any],
    correct: Sequence[bool] | npt.NDArray[Any],
    max_error: float,
    confidence: float,
) -> tuple[Floats, npt.NDArray[np.bool_]]:
    values, right = checked_labels(scores, correct)
    if values.ndim != 1:
        raise ValueError(f"scores and correct must be two lists of one length, not of the shape {values.shape}")
    check_shares(max_error, confidence)
    return values, ~right


def _regions(values: Floats, wrong: npt.NDArray[np.bool_]) -> tuple[Counts, Counts, Floats]:
    """For each distinct score, highest first: the number of answers at or above it, of wrong ones, and the score."""
    known = ~np.isnan(values)
    order = np.argsort(-values[known], kind="stable")
    ranked, misses = values[known][order], np.cumsum(wrong[known][order])
    is_last = np.append(ranked[1:] != ranked[:-1], True)[: len(ranked)]
    ends = np.flatnonzero(is_last).astype(np.int64)
    return ends + 1, misses[ends].astype(np.int64), ranked[ends]


class _Start(NamedTuple):
    """The first test from a start of the sequence, by the errors that it allows, and the level that comes with it."""

    num_errors: int
    level: float


def _last_granted(sizes: Counts, num_wrong: Counts, max_error: float, level: float) -> int | None:
    """The last region of the sequence whose test passes before one fails, from any start; None if there is none.

    Test w asks whether the region of `critical_sizes[w]` answers, or of as many more as share the last one's score,
    has at most as many wrong ones as its size allows. The regions depend on the scores alone. The last test is the
    region of all answers. A test has the levels of all starts since the last failure.
    """
    if not len(sizes):
        return None
    total = int(sizes[-1])
    granted: int | None = None
    planned = available = 0.0
    starts = _starts(total, max_error, level)
    for start, end in zip_longest(starts, [following.num_errors for following in starts[1:]]):
        planned += start.level
        available += start.level
        critical = critical_sizes(total, max_error, planned)
        if not len(critical):
            return None
        first = min(start.num_errors, len(critical) - 1)
        tested = np.searchsorted(sizes, critical[first:end])
        tested = np.unique(np.append(tested, len(sizes) - 1) if end is None else tested)
        if available < planned:
            critical = critical_sizes(total, max_error, available)
        failed = np.flatnonzero(num_wrong[tested] > allowed_errors(critical, sizes[tested]))
        num_granted = int(failed[0]) if len(failed) else len(tested)
        if num_granted:
            granted = int(tested[num_granted - 1])
        if len(failed):
            available = 0.0
    return granted


def _starts(num_answers: int, max_error: float, level: float) -> list[_Start]:
    num_errors = max_error * num_answers
    first = int(num_errors / ERRORS_PER_SKIPPED_TEST)
    if num_errors < MIN_ERRORS_TO_RESTART:
        return [_Start(first, level)]
    return [
        _Start(first, (1.0 - SECOND_LEVEL) * level),
        _Start(int(SECOND_START * num_errors), SECOND_LEVEL * level),
    ]


def _labels_needed(sizes: Counts, num_wrong: Counts, num_labels: int, max_error: float, level: float) -> int | None:
    """More labels for which the test of some region is passed with DETECTABLE_POWER; by the normal approximation.

    A region's rate of errors is estimated with half an error more than it has, which is not 0, but not above the middle
    of what it has and what is allowed. Without any error there is nothing to estimate: only the least number of labels
    that any grant needs is missing, as it is where there are too few labels to estimate a rate.
    """
    fewest = math.ceil(math.log(level) / math.log1p(-max_error))
    if not num_labels:
        return fewest
    if not len(sizes):
        return None
    if not num_wrong[-1]:
        return max(1, math.ceil(fewest * num_labels / int(sizes[-1])) - num_labels)
    seen, rates = num_wrong / sizes, (num_wrong + 0.5) / (sizes + 1.0)
    usable = rates < max_error
    if not usable.any() and num_labels < fewest and (not num_wrong[0] or seen[-1] < max_error):
        return fewest - num_labels
    usable[-1] |= seen[-1] < max_error
    if not usable.any():
        return None
    rate, share = np.minimum(rates, (seen + max_error) / 2.0)[usable], sizes[usable] / num_labels
    spread_of_null = NormalDist().inv_cdf(1.0 - level) * math.sqrt(max_error * (1.0 - max_error))
    spread = spread_of_null + NormalDist().inv_cdf(DETECTABLE_POWER) * np.sqrt(rate * (1.0 - rate))
    wanted = np.maximum((spread / (max_error - rate)) ** 2, math.log(level) / math.log1p(-max_error))
    return max(1, math.ceil(float((wanted / share).min())) - num_labels)

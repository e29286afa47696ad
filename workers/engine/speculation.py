"""Speculative decoding: the number of drafts, and drafts from the sequence itself (prompt lookup)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

MAX_MATCH, MIN_MATCH = 4, 2
MAX_BACKOFF_TOKENS = 64
INITIAL_ACCEPTANCE_RATE = 0.6
UNKNOWN_ROW_COST = 0.05
_DECAY = 0.85  # weight of a result after the next one


class StepCost:
    """Durations of small steps by number of rows.

    Estimates decay a little with each step, so that sizes not measured for long are tried again.
    """

    def __init__(self, max_rows: int, *, unknown: float = 1.0) -> None:
        self._seconds = [0.0] * (max_rows + 1)  # 0 if unknown
        self._unknown = unknown  # of every step, before one is measured

    def on_step(self, num_rows: int, seconds: float) -> None:
        """Record that a step of `num_rows` rows took `seconds`; outliers are clipped."""
        known = self._seconds[num_rows]
        self._seconds = [0.998 * other for other in self._seconds]
        change = min(seconds, 2 * known) - known
        self._seconds[num_rows] = known + 0.2 * change if known else seconds

    def of(self, num_rows: int) -> float:
        """Seconds of a step of `num_rows` rows; at most proportional to a smaller step."""
        limits = [self._seconds[num_rows]] if self._seconds[num_rows] else []
        for other in range(num_rows - 1, 0, -1):
            if self._seconds[other]:
                growth = 1 + UNKNOWN_ROW_COST * (num_rows - other)
                limits.append(self._seconds[other] * (num_rows / other if limits else growth))
        limits += [seconds for seconds in self._seconds[num_rows + 1 :] if seconds]
        return min(limits, default=self._unknown)


class Drafter:
    """Counts the drafts of one sequence, at most `max_drafts` a step, and measures the acceptance rate.

    When drafts do not pay, one is tried with exponential backoff, up to MAX_BACKOFF_TOKENS tokens.
    """

    def __init__(self, max_drafts: int) -> None:
        self.max_drafts = max_drafts
        self._num_tried, self._num_right = 2.0, 2 * INITIAL_ACCEPTANCE_RATE
        self._backoff_tokens = 1
        self._next_attempt_at = 0

    @property
    def acceptance_rate(self) -> float:
        """Probability that a draft is right, if the drafts before it are."""
        return self._num_right / self._num_tried

    def propose(self, token_ids: NDArray[np.int32], limit: int) -> NDArray[np.int32]:
        """At most `limit` drafts after `token_ids`; none if its end did not occur before."""
        return prompt_lookup(token_ids, min(limit, self.max_drafts))

    def is_due(self, num_tokens: int) -> bool:
        """True if one draft should be tried after `num_tokens` tokens, though none pays."""
        return num_tokens >= self._next_attempt_at

    def num_wanted(self, num_worthwhile: int, num_tokens: int) -> int:
        """Number of drafts after `num_tokens` tokens: those that pay, or one that is due."""
        if num_worthwhile:
            self._backoff_tokens = 1
        elif self.is_due(num_tokens):
            self._next_attempt_at = num_tokens + 1 + self._backoff_tokens
            self._backoff_tokens = min(MAX_BACKOFF_TOKENS, 2 * self._backoff_tokens)
            return 1
        return num_worthwhile

    def on_result(self, num_drafts: int, num_accepted: int) -> None:
        """`num_accepted` of `num_drafts` drafts were accepted."""
        self._num_right = _DECAY * self._num_right + num_accepted
        self._num_tried = _DECAY * self._num_tried + min(num_drafts, num_accepted + 1)


class DraftSlot(NamedTuple):
    """A sequence that samples, and the number of drafts that fit after it."""

    drafter: Drafter
    token_ids: NDArray[np.int32]
    room: int


def propose(places: Sequence[DraftSlot], num_rows: int, limit: int, cost: StepCost) -> list[NDArray[np.int32]]:
    """The drafts for each place, at most `limit` in all, in a step that has `num_rows` rows without them."""
    hopes = [(place.drafter.acceptance_rate, min(limit, place.room)) for place in places]
    is_due = any(place.drafter.is_due(place.token_ids.size) for place in places)
    if not is_due and not any(best_draft_counts(hopes, num_rows, limit, cost)):
        return [place.token_ids[:0] for place in places]
    found = [place.drafter.propose(place.token_ids, min(limit, place.room)) for place in places]
    chances = [(place.drafter.acceptance_rate, drafts.size) for place, drafts in zip(places, found, strict=True)]
    counts = best_draft_counts(chances, num_rows, limit, cost)
    num_left = limit - sum(counts)
    for index, place in enumerate(places):
        if counts[index] or num_left:
            num_drafts = place.drafter.num_wanted(counts[index], place.token_ids.size)
            num_left -= min(num_drafts, found[index].size) - counts[index]
            counts[index] = num_drafts
    return [drafts[:count] for drafts, count in zip(found, counts, strict=True)]


def best_draft_counts(proposals: Sequence[tuple[float, int]], num_rows: int, limit: int, cost: StepCost) -> list[int]:
    """Numbers of drafts for the most tokens per second, from (acceptance rate, number of drafts) of each sequence.

    Without drafts the step has `num_rows` rows and yields as many tokens; `limit` bounds all drafts.
    """
    likelihoods = sorted(
        (
            (acceptance_rate**place, index)
            for index, (acceptance_rate, size) in enumerate(proposals)
            for place in range(1, size + 1)
        ),
        key=lambda pair: (-pair[0], pair[1]),
    )[:limit]
    num_expected, num_best, best_rate = float(num_rows), 0, num_rows / cost.of(num_rows)
    for num_drafts, (likelihood, _) in enumerate(likelihoods, start=1):
        num_expected += likelihood
        rate = num_expected / cost.of(num_rows + num_drafts)
        if rate > best_rate:
            num_best, best_rate = num_drafts, rate
    counts = [0] * len(proposals)
    for _, index in likelihoods[:num_best]:
        counts[index] += 1
    return counts


def prompt_lookup(token_ids: NDArray[np.int32], limit: int) -> NDArray[np.int32]:
    """The tokens after the latest earlier occurrence of the last tokens: (at most `limit`,) int32.

    The longest match of MAX_MATCH to MIN_MATCH tokens counts. An occurrence may overlap the end; a continuation
    that reaches the end repeats. This is prompt lookup decoding (Saxena 2023).
    """
    num_tokens = token_ids.size
    if limit <= 0 or num_tokens <= MIN_MATCH:
        return token_ids[:0]
    ends = np.flatnonzero(token_ids[:-1] == token_ids[-1])  # of matches of 1, 2, ... tokens, in ascending order
    num_matched = 1
    for size in range(2, min(MAX_MATCH, num_tokens - 1) + 1):
        longer = ends[ends >= size - 1]
        longer = longer[token_ids[longer - (size - 1)] == token_ids[-size]]
        if not longer.size:
            break
        ends, num_matched = longer, size
    if num_matched < MIN_MATCH:
        return token_ids[:0]
    start = int(ends[-1]) + 1
    period = num_tokens - start
    return token_ids[start + np.arange(limit) % period]

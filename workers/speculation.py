"""Guesses at the next tokens, taken from the sequence itself: no second model."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

MAX_MATCH, MIN_MATCH = 4, 2
MAX_PAUSE = 64
FIRST_CHANCE = 0.6
UNKNOWN_ROW_COST = 0.05
_MEMORY = 0.85  # what a result counts for after the next one
_COST_MEMORY = 0.98


class StepCost:
    """What one more row costs a small step, from the steps that were: a line through their times."""

    def __init__(self) -> None:
        self._weight = self._rows = self._seconds = self._rows_squared = self._rows_seconds = 0.0

    def on_step(self, num_rows: int, seconds: float) -> None:
        """A step of so many rows took so long; what took far longer than usual was disturbed."""
        if self._weight:
            seconds = min(seconds, 3 * self._seconds / self._weight)
        self._weight = _COST_MEMORY * self._weight + 1
        self._rows = _COST_MEMORY * self._rows + num_rows
        self._seconds = _COST_MEMORY * self._seconds + seconds
        self._rows_squared = _COST_MEMORY * self._rows_squared + num_rows * num_rows
        self._rows_seconds = _COST_MEMORY * self._rows_seconds + num_rows * seconds

    def of_row(self, num_rows: int) -> float:
        """The cost of one row more, as a part of the cost of a step of `num_rows`."""
        variance = self._weight * self._rows_squared - self._rows**2
        if variance <= 1e-6 * self._rows**2 or self._seconds <= 0:
            return UNKNOWN_ROW_COST
        slope = max(0.0, (self._weight * self._rows_seconds - self._rows * self._seconds) / variance)
        step = (self._seconds + slope * (num_rows * self._weight - self._rows)) / self._weight
        return slope / step if step > slope else 1.0


class Drafter:
    """Proposes tokens for one sequence, at most `max_drafts` a step, as many as can be expected to pay.

    The chance that a draft is right is estimated from those before. Where not even one draft would pay, one
    is tried now and then: after each that was wrong there is none for twice as many tokens, up to MAX_PAUSE.
    """

    def __init__(self, max_drafts: int) -> None:
        self._max_drafts = max_drafts
        self._num_tried, self._num_right = 2.0, 2 * FIRST_CHANCE
        self._pause = 1
        self._silent_until = 0

    def propose(
        self, token_ids: NDArray[np.int32], limit: int, *, row_cost: float = 0.0, num_rows: int = 1
    ) -> NDArray[np.int32]:
        """At most `limit` guesses at what follows `token_ids`, none where its end never came before.

        Without them the step has `num_rows` rows, and each adds the part `row_cost` to its time.
        """
        size = self._size(row_cost, num_rows)
        if not size and token_ids.size < self._silent_until:
            return token_ids[:0]
        return find_drafts(token_ids, min(limit, self._max_drafts, max(1, size)))

    def on_result(self, num_tokens: int, num_drafts: int, num_accepted: int) -> None:
        """So many of the last proposal's tokens were right; the sequence now has `num_tokens`."""
        self._num_right = _MEMORY * self._num_right + num_accepted
        self._num_tried = _MEMORY * self._num_tried + min(num_drafts, num_accepted + 1)
        if num_accepted:
            self._pause = 1
        else:
            self._silent_until = num_tokens + self._pause
            self._pause = min(MAX_PAUSE, 2 * self._pause)

    def _size(self, row_cost: float, num_rows: int) -> int:
        """How many drafts make the step yield more tokens a second."""
        chance = self._num_right / self._num_tried
        likelihood, num_expected, size = chance, float(num_rows), 0
        while size < self._max_drafts and likelihood > row_cost * num_expected:
            num_expected += likelihood
            likelihood *= chance
            size += 1
        return size


def find_drafts(token_ids: NDArray[np.int32], limit: int) -> NDArray[np.int32]:
    """What followed the latest earlier occurrence of the last tokens: (at most `limit`,) int32.

    Of the last MAX_MATCH, or as many fewer as have occurred before, but at least MIN_MATCH. An occurrence may
    overlap the end; a continuation that reaches the end goes on with itself, as a loop does. This is prompt
    lookup decoding (Saxena 2023).
    """
    num_tokens = token_ids.size
    if limit <= 0 or num_tokens <= MIN_MATCH:
        return token_ids[:0]
    ends = np.flatnonzero(token_ids[:-1] == token_ids[-1])  # of matches of 1, 2, ... tokens, in rising order
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

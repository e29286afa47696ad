"""Counts of values in fixed bins, which can be added up."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

import msgspec

_DECADE = (1.0, 2.0, 5.0)

SHARES = tuple(number / 20 for number in range(20))
"""Bins from 0 to 1; a value of 1 is in the last one."""

MILLISECONDS = (0.0, *(step * 10.0**power for power in range(7) for step in _DECADE))
TOKENS = (0.0, *(float(1 << power) for power in range(21)))


class BinCounts(msgspec.Struct):
    """Bin `i` has the values from `edges[i]` to below the next edge; the last bin has no upper edge."""

    edges: Sequence[float]
    counts: list[int] = []

    def add(self, value: float | None) -> None:
        """Count a value; None is none."""
        if value is None:
            return
        self.counts = self.counts or [0] * len(self.edges)
        self.counts[max(0, bisect_right(self.edges, value) - 1)] += 1

    def bins(self) -> list[tuple[float, float | None, int]]:
        """The lower edge, the upper edge and the count of each bin from the first to the last that is not empty."""
        filled = [place for place, count in enumerate(self.counts) if count]
        if not filled:
            return []
        upper = [*self.edges[1:], None]
        return [(self.edges[place], upper[place], self.counts[place]) for place in range(filled[0], filled[-1] + 1)]

    def merge(self, other: BinCounts) -> None:
        """Add the counts of a histogram with the same edges."""
        if other.counts:
            counts = self.counts or [0] * len(self.edges)
            self.counts = [mine + theirs for mine, theirs in zip(counts, other.counts, strict=True)]

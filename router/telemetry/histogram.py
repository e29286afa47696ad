"""A histogram that is cheap enough for every token."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from cactus_actors.protocol.totals import Distribution

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0)
TOKEN_SECONDS = (
    *(0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.03, 0.05),
    *(0.075, 0.1, 0.15, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0),
)
TOKENS = tuple(float(step * 10**power) for power in range(5) for step in (1, 2, 5))


class Histogram:
    """Counts of values up to each bound."""

    __slots__ = ("_bounds", "_counts", "_last", "_place", "_sum")

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = tuple(bounds)
        self._counts = [0] * (len(bounds) + 1)
        self._sum = 0.0
        self._last, self._place = 0.0, bisect_left(self._bounds, 0.0)

    def observe(self, value: float, times: int = 1) -> None:
        """Count a value that occurred `times` times."""
        if value != self._last:  # the sequences of a step have one value
            self._last, self._place = value, bisect_left(self._bounds, value)
        self._counts[self._place] += times
        self._sum += value * times

    def distribution(self) -> Distribution:
        """The counts as they are now."""
        return Distribution(self._bounds, tuple(self._counts), self._sum)

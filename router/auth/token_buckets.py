"""Token buckets: how much of something may come a second in the long run, and in a burst."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

MAX_BUCKETS = 8192


@dataclass(frozen=True, slots=True)
class RateLimit:
    """Messages (or bytes) a second in the long run, and in a burst."""

    rate: float
    burst: float


@dataclass(slots=True)
class TokenBucket:
    """The amount `left` that may be sent at once; time fills the bucket."""

    limit: RateLimit
    left: float
    filled_at: float

    def fill(self, now: float) -> None:
        self.left = min(self.limit.burst, self.left + self.limit.rate * (now - self.filled_at))
        self.filled_at = now

    def seconds_until(self, amount: float) -> float:
        """The seconds until it holds this amount."""
        return max(0.0, (amount - self.left) / self.limit.rate)


class TokenBuckets:
    """At most MAX_BUCKETS buckets by name; time is an argument.

    If there are too many, the full ones, which equal new ones, are forgotten, or all if none is full.
    """

    def __init__(self) -> None:
        self._buckets: dict[Hashable, TokenBucket] = {}

    def __len__(self) -> int:
        return len(self._buckets)

    def filled(self, name: Hashable, limit: RateLimit, now: float) -> TokenBucket:
        """The bucket of that name as it is now; a new one is full."""
        bucket = self._buckets.get(name)
        if bucket is None:
            if len(self._buckets) >= MAX_BUCKETS:
                self._forget_full(now)
            bucket = self._buckets[name] = TokenBucket(limit, limit.burst, now)
        else:
            bucket.fill(now)
        return bucket

    def _forget_full(self, now: float) -> None:
        for bucket in self._buckets.values():
            bucket.fill(now)
        self._buckets = {name: it for name, it in self._buckets.items() if it.left < it.limit.burst}
        if len(self._buckets) >= MAX_BUCKETS:
            self._buckets.clear()

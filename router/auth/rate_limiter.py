"""Cuts connections that flood a socket."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass

from cactus_actors.router.auth.peer_connections import PeerConnection

MAX_METERED = 8192
MAX_REFUSED_TOPICS = 1024
"""Refused subscriptions after which a connection is cut."""


@dataclass(frozen=True, slots=True)
class RateLimit:
    """Messages (or bytes) a second in the long run, and at once."""

    rate: float
    burst: float

    def filled(self, left: float, seconds: float) -> float:
        """The content of a bucket so many seconds after it held `left`."""
        return min(self.burst, left + self.rate * seconds)


RATE_LIMITS: Mapping[str, RateLimit] = {
    # A worker reports once a step, and no step is shorter than a quarter of a millisecond.
    "workers": RateLimit(rate=4000.0, burst=8000.0),
    # A gateway subscribes to one job's stream after the other.
    "stream": RateLimit(rate=8000.0, burst=8000.0),
}
"""By domain; on the jobs socket clients take turns, and `request_rate_limits.py` counts their requests."""


_log = logging.getLogger(__name__)


class TokenBuckets:
    """A bucket of allowed messages for each connection of one domain, filled as time passes."""

    def __init__(self, allowance: RateLimit) -> None:
        self._allowance = allowance
        self._buckets: dict[Hashable, tuple[float, float]] = {}

    def is_exceeded(self, connection: Hashable, now: float, cost: float = 1.0) -> bool:
        """Count a message of a connection at this cost; True if it exceeds the limit."""
        left, counted_at = self._buckets.get(connection, (self._allowance.burst, now))
        left = self._allowance.filled(left, now - counted_at) - cost
        if connection not in self._buckets and len(self._buckets) >= MAX_METERED:
            self._buckets.clear()  # most of them have ended; a flood is detected again
        self._buckets[connection] = left, now
        return left < 0.0


class RateLimiter:
    """Ends connections that flood a socket; counts each in `refused`."""

    def __init__(self, refused: Counter[str]) -> None:
        self._refused = refused
        self._meters = {domain: TokenBuckets(allowance) for domain, allowance in RATE_LIMITS.items()}
        self._cut: set[Hashable] = set()
        self._num_topics: Counter[Hashable] = Counter()

    def is_stopped(self, connection: PeerConnection | None, cost: float = 1.0) -> bool:
        """Count a message; True if its connection was cut for this or an earlier one."""
        if connection is None or connection.domain not in self._meters:
            return False
        name = connection.name
        if name in self._cut:
            return True
        if not self._meters[connection.domain].is_exceeded(name, time.monotonic(), cost):
            return False
        self._end(connection)
        return True

    def listens_to_too_much(self, connection: PeerConnection | None, subscribes: bool, max_topics: int) -> bool:
        """Count a subscription, or its end; True if the connection was cut for too many refused ones.

        ZeroMQ keeps refused subscriptions for as long as the connection lasts.
        """
        if connection is None:
            return False
        name = connection.name
        if name not in self._num_topics and len(self._num_topics) >= MAX_METERED:
            self._num_topics.clear()
        self._num_topics[name] = max(0, self._num_topics[name] + (1 if subscribes else -1))
        if self._num_topics[name] <= max_topics + MAX_REFUSED_TOPICS:
            return False
        self._end(connection)
        return True

    def _end(self, connection: PeerConnection) -> None:
        if len(self._cut) >= MAX_METERED:
            self._cut.clear()
        self._cut.add(connection.name)
        self._refused["flood"] += 1
        _log.warning("a connection that flooded the %s socket was cut", connection.domain)
        connection.cut()

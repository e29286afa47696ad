"""Closes connections that flood a socket."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Hashable, Mapping

from cactus_actors.process.throttled_log import ThrottledLog
from cactus_actors.router.auth.peer_connections import PeerConnection
from cactus_actors.router.auth.token_buckets import RateLimit, TokenBuckets

MAX_CLOSED = 8192
MAX_REFUSED_TOPICS = 1024
"""Refused subscriptions after which a connection is closed."""


RATE_LIMITS: Mapping[str, RateLimit] = {
    # A worker reports once a step, and no step is shorter than a quarter of a millisecond.
    "workers": RateLimit(rate=4000.0, burst=8000.0),
    # A gateway subscribes to one job's stream after the other.
    "stream": RateLimit(rate=8000.0, burst=8000.0),
}
"""By domain; on the jobs socket clients take turns, and `request_rate_limits.py` counts their requests."""


_log = ThrottledLog(logging.getLogger(__name__))


class RateLimiter:
    """Closes connections that flood a socket; counts each in `refused`."""

    def __init__(self, refused: Counter[str]) -> None:
        self._refused = refused
        self._buckets = {domain: TokenBuckets() for domain in RATE_LIMITS}
        self._closed: set[Hashable] = set()
        self._num_topics: Counter[Hashable] = Counter()

    def is_stopped(self, connection: PeerConnection | None, cost: float = 1.0) -> bool:
        """Count a message; True if its connection was closed for this or an earlier one."""
        if connection is None or connection.domain not in self._buckets:
            return False
        name = connection.name
        if name in self._closed:
            return True
        domain = connection.domain
        bucket = self._buckets[domain].filled(name, RATE_LIMITS[domain], time.monotonic())
        bucket.left -= cost
        if bucket.left >= 0.0:
            return False
        self._close(connection)
        return True

    def exceeds_subscriptions(self, connection: PeerConnection | None, subscribes: bool, max_topics: int) -> bool:
        """Count a subscription, or its end; True if the connection was closed for too many refused ones.

        ZeroMQ keeps refused subscriptions for as long as the connection lasts.
        """
        if connection is None:
            return False
        name = connection.name
        if name not in self._num_topics and len(self._num_topics) >= MAX_CLOSED:
            self._num_topics.clear()
        self._num_topics[name] = max(0, self._num_topics[name] + (1 if subscribes else -1))
        if self._num_topics[name] <= max_topics + MAX_REFUSED_TOPICS:
            return False
        self._close(connection)
        return True

    def _close(self, connection: PeerConnection) -> None:
        if len(self._closed) >= MAX_CLOSED:
            self._closed.clear()
        self._closed.add(connection.name)
        self._refused["flood"] += 1
        _log.warning("closed a connection that exceeded the rate limit of the %s socket", connection.domain)
        connection.close()

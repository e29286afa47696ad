"""Rate limits of each client's requests, by kind."""

from __future__ import annotations

from collections.abc import Mapping

from cactus_actors.protocol.errors import Overloaded
from cactus_actors.protocol.messages import (
    Cancel,
    ClientMessage,
    Fetch,
    Restart,
    Resume,
    Scale,
    StatusRequest,
    Submit,
)
from cactus_actors.router.auth.rate_limiter import RateLimit

MAX_METERED = 8192

# A client that follows many jobs asks about all of them at once after a reconnect, a gateway for all its
# clients: a burst is the number of jobs that may wait or run.
RATE_LIMITS: Mapping[type[ClientMessage], RateLimit] = {
    Submit: RateLimit(rate=4000.0, burst=20_000.0),
    Cancel: RateLimit(rate=4000.0, burst=20_000.0),
    Resume: RateLimit(rate=4000.0, burst=20_000.0),
    Fetch: RateLimit(rate=2000.0, burst=20_000.0),
    StatusRequest: RateLimit(rate=2000.0, burst=4000.0),
    Scale: RateLimit(rate=10.0, burst=100.0),
    Restart: RateLimit(rate=10.0, burst=100.0),
}


class RequestRateLimits:
    """A bucket of messages for each requester and kind, filled as time passes; a refused message takes none."""

    def __init__(self) -> None:
        self._buckets: dict[tuple[str, type[ClientMessage]], tuple[float, float]] = {}

    def check(self, asker: str, message: ClientMessage, now: float) -> None:
        """Count a message; raises Overloaded, with the time until the next one is accepted, beyond the rate."""
        kind = type(message)
        allowance, bucket = RATE_LIMITS[kind], (asker, kind)
        left, counted_at = self._buckets.get(bucket, (allowance.burst, now))
        left = allowance.filled(left, now - counted_at)
        if left < 1.0:
            raise Overloaded(
                f"too many `{kind.__struct_config__.tag}` messages: at most {allowance.rate:g} a second",
                retry_after=(1.0 - left) / allowance.rate,
            )
        if bucket not in self._buckets and len(self._buckets) >= MAX_METERED:
            self._forget_full(now)
        self._buckets[bucket] = left - 1.0, now

    def _forget_full(self, now: float) -> None:
        """Forget the buckets that are full again, which equal new ones; all buckets if none is full."""
        self._buckets = {
            (asker, kind): (left, counted_at)
            for (asker, kind), (left, counted_at) in self._buckets.items()
            if RATE_LIMITS[kind].filled(left, now - counted_at) < RATE_LIMITS[kind].burst
        }
        if len(self._buckets) >= MAX_METERED:
            self._buckets.clear()

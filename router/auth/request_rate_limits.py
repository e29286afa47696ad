"""Rate limits of each client's requests, by kind."""

from __future__ import annotations

from collections.abc import Mapping

from cactus_actors.protocol.errors import Overloaded
from cactus_actors.protocol.messages import (
    AskCloudBatch,
    Cancel,
    ClientMessage,
    DrainNode,
    Fetch,
    LoadAdapter,
    Restart,
    Resume,
    Scale,
    StatusRequest,
    Submit,
    UnloadAdapter,
)
from cactus_actors.router.auth.token_buckets import RateLimit, TokenBuckets

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
    DrainNode: RateLimit(rate=10.0, burst=100.0),
    LoadAdapter: RateLimit(rate=10.0, burst=100.0),
    UnloadAdapter: RateLimit(rate=10.0, burst=100.0),
    AskCloudBatch: RateLimit(rate=100.0, burst=1000.0),
}


class RequestRateLimits:
    """A bucket of messages for each requester and kind, filled as time passes; a refused message takes none."""

    def __init__(self) -> None:
        self._buckets = TokenBuckets()

    def check(self, asker: str, message: ClientMessage, now: float) -> None:
        """Count a message; raises Overloaded, with the time until the next one is accepted, beyond the rate."""
        kind = type(message)
        limit = RATE_LIMITS[kind]
        bucket = self._buckets.filled((asker, kind), limit, now)
        if bucket.left < 1.0:
            raise Overloaded(
                f"too many `{kind.__struct_config__.tag}` messages: at most {limit.rate:g} a second",
                retry_after=bucket.seconds_until(1.0),
            )
        bucket.left -= 1.0

"""Rate limits of large messages on the jobs socket, in bytes: of each client, and of all clients together.

Small messages are limited in number by `request_rate_limits.py`. A large one costs the edge process and the router
memory and milliseconds before it is decoded.
"""

from __future__ import annotations

from cactus_actors.router.auth.token_buckets import RateLimit, TokenBucket, TokenBuckets

LARGE_BYTES = 64 << 10
"""A message of at most this size is not limited here."""
OF_ONE_CLIENT = RateLimit(rate=float(8 << 20), burst=float(32 << 20))
OF_ALL_CLIENTS = RateLimit(rate=float(32 << 20), burst=float(64 << 20))
SHARE_S = 1.0
"""A key that used less than its share of this number of seconds is not refused when others use up the rate."""


class LargeMessageRates:
    """A bucket of bytes for each client that sends large messages, and one for all; time is an argument.

    A client is a key, or a connection without keys.
    """

    def __init__(self) -> None:
        self._clients = TokenBuckets()
        self._all = TokenBuckets()

    def __len__(self) -> int:
        """The number of known clients."""
        return len(self._clients)

    def delay_s(self, client: str, num_bytes: int, now: float, *, has_key: bool) -> float:
        """Count a message: 0 if the client may send it now, else the seconds until it may.

        A refused message is not counted. Connections without a key cost nothing to open, so the rate of all clients
        bounds each of them, too; a key has its share of that rate.
        """
        if num_bytes <= LARGE_BYTES:
            return 0.0
        own = self._clients.filled(client, OF_ONE_CLIENT, now)
        shared = self._all.filled("", OF_ALL_CLIENTS, now)
        delay_s = own.seconds_until(num_bytes)
        if not (has_key and self._is_within_share(own, num_bytes)):
            delay_s = max(delay_s, shared.seconds_until(num_bytes))
        if not delay_s:
            own.left -= num_bytes
            shared.left = max(0.0, shared.left - num_bytes)
        return delay_s

    def _is_within_share(self, own: TokenBucket, num_bytes: int) -> bool:
        num_used = OF_ONE_CLIENT.burst - own.left
        return num_used + num_bytes <= max(OF_ALL_CLIENTS.rate * SHARE_S / len(self._clients), num_bytes)

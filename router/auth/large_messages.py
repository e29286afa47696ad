"""Rate limits of large messages on the jobs socket, in bytes: of each client, and of all clients together.

Small messages are limited in number by `request_rate_limits.py`. A large one costs the edge process and the router
memory and milliseconds before it is decoded.
"""

from __future__ import annotations

from dataclasses import dataclass

from cactus_actors.router.auth.rate_limiter import RateLimit

LARGE_BYTES = 64 << 10
"""A message of at most this size is not limited here."""
OF_ONE_CLIENT = RateLimit(rate=float(8 << 20), burst=float(32 << 20))
OF_ALL_CLIENTS = RateLimit(rate=float(32 << 20), burst=float(64 << 20))
SHARE_S = 1.0
"""A key that used less than its share of so many seconds is not refused when others use up the rate."""
MAX_CLIENTS = 8192


@dataclass(slots=True)
class _Bucket:
    """The bytes that may be sent at once; they grow with time."""

    allowance: RateLimit
    num_bytes: float
    counted_at: float

    def fill(self, now: float) -> None:
        self.num_bytes = self.allowance.filled(self.num_bytes, now - self.counted_at)
        self.counted_at = now

    @property
    def num_used(self) -> float:
        return self.allowance.burst - self.num_bytes

    def seconds_until(self, num_bytes: int) -> float:
        """The seconds until it holds so many bytes."""
        return max(0.0, (num_bytes - self.num_bytes) / self.allowance.rate)


class LargeMessageRates:
    """A bucket of bytes for each client that sends large messages, and one for all; time is an argument.

    A client is a key, or a connection without keys.
    """

    def __init__(self) -> None:
        self._buckets: dict[str, _Bucket] = {}
        self._all: _Bucket | None = None

    def __len__(self) -> int:
        """The number of known clients."""
        return len(self._buckets)

    def delay_s(self, client: str, num_bytes: int, now: float, *, has_key: bool) -> float:
        """Count a message: 0 if the client may send it now, else the seconds until it may.

        A refused message is not counted. Connections without a key cost nothing to open, so the rate of all clients
        bounds each of them, too; a key has its share of that rate.
        """
        if num_bytes <= LARGE_BYTES:
            return 0.0
        own, shared = self._bucket_of(client, now), self._shared(now)
        delay_s = own.seconds_until(num_bytes)
        if not (has_key and self._is_within_share(own, num_bytes)):
            delay_s = max(delay_s, shared.seconds_until(num_bytes))
        if not delay_s:
            own.num_bytes -= num_bytes
            shared.num_bytes = max(0.0, shared.num_bytes - num_bytes)
        return delay_s

    def _bucket_of(self, client: str, now: float) -> _Bucket:
        bucket = self._buckets.get(client)
        if bucket is None:
            if len(self._buckets) >= MAX_CLIENTS:
                self._forget_full(now)
            bucket = self._buckets[client] = _Bucket(OF_ONE_CLIENT, OF_ONE_CLIENT.burst, now)
        bucket.fill(now)
        return bucket

    def _shared(self, now: float) -> _Bucket:
        if self._all is None:
            self._all = _Bucket(OF_ALL_CLIENTS, OF_ALL_CLIENTS.burst, now)
        self._all.fill(now)
        return self._all

    def _is_within_share(self, own: _Bucket, num_bytes: int) -> bool:
        share = OF_ALL_CLIENTS.rate * SHARE_S / len(self._buckets)
        return own.num_used + num_bytes <= max(share, num_bytes)

    def _forget_full(self, now: float) -> None:
        """Forget the clients that sent nothing lately, or all clients if there are none of these."""
        for bucket in self._buckets.values():
            bucket.fill(now)
        self._buckets = {client: bucket for client, bucket in self._buckets.items() if bucket.num_used > 0}
        if len(self._buckets) >= MAX_CLIENTS:
            self._buckets.clear()

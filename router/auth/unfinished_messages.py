"""Closes connections that leave messages unfinished or unread when these take much memory together.

ZeroMQ keeps the frames of a message until the last one has come, however many there are, and reports none of
them. The difference between the bytes that a connection brought and the bytes of its messages says how much is
kept, and so does the difference between the bytes sent to it and those that arrived.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections import Counter
from collections.abc import Sequence

from cactus_actors.process.resident_memory import resident_bytes, return_memory
from cactus_actors.process.throttled_log import ThrottledLog
from cactus_actors.router.auth.open_sockets import connections_to, ports_of, progress_of
from cactus_actors.router.auth.peer_connections import PeerConnections

MAX_GROWTH_BYTES = 160 << 20
"""Growth of the process after which connections are examined: room for several requests with pictures."""
ALLOWED_BYTES = 64 << 10
"""The bytes that a connection may always keep."""
CHECK_S = 0.02
RETURN_INTERVAL_S, NUM_RETURNS = 0.5, 10
"""Interval and number of returns of freed memory: ZeroMQ frees it some time after a connection is closed."""
RETURN_LIMIT_S = 2.0
"""Seconds until memory of closed connections that was not returned counts as used by the process."""
SHARE = 10.0
"""Examination may take at most 1/SHARE of the time."""

_log = ThrottledLog(logging.getLogger(__name__))


class UnfinishedMessages:
    """Monitors the memory of the process; counts each connection that it closes in `refused`."""

    def __init__(self, connections: PeerConnections, refused: Counter[str]) -> None:
        self._connections = connections
        self._refused = refused
        self._ports: frozenset[int] = frozenset()
        self._usual_bytes = 0
        self._allowances: dict[tuple[int, int], int] = {}
        self._next_check = self._next_return = 0.0
        self._alarmed_at: float | None = None
        self._num_returns = 0

    def watch(self, endpoints: Sequence[str]) -> None:
        """Connections to these endpoints may be closed; the present memory is the usual memory of the process."""
        self._ports = ports_of(endpoints)
        self._usual_bytes = resident_bytes()

    def on_tick(self, now: float) -> bool:
        """Close connections if memory has grown; called several times a second, every CHECK_S while it returns True.

        It is cheap while the process takes no more than its usual memory.
        """
        if now < self._next_check:
            return True
        excess = resident_bytes() - self._usual_bytes
        if excess >= MAX_GROWTH_BYTES:
            self._num_returns = NUM_RETURNS
            if self._close_largest(now) or self._alarmed_at is None:
                self._alarmed_at = now
            elif now - self._alarmed_at >= RETURN_LIMIT_S:
                # No connection is the cause: this is the usual memory from now on.
                self._usual_bytes += excess - MAX_GROWTH_BYTES // 2
        else:
            self._alarmed_at = None
        if self._num_returns and now >= self._next_return:
            self._next_return = now + RETURN_INTERVAL_S
            self._num_returns -= 1
            return_memory()
        return excess >= MAX_GROWTH_BYTES // 4

    def _close_largest(self, now: float) -> bool:
        """Close the connection that keeps most, and those that keep half as much; True if there were any."""
        started = time.perf_counter()
        kept = self._kept()
        self._next_check = now + SHARE * (time.perf_counter() - started)
        most = max(kept.values(), default=0)
        largest = [name for name, size in kept.items() if size > max(ALLOWED_BYTES, most // 2)]
        num_closed = sum(self._connections.close(name) for name in largest)
        if num_closed:
            self._refused["unfinished"] += num_closed
            _log.warning("closed %d connections with unfinished or unread messages", num_closed)
        return bool(largest)

    def _kept(self) -> dict[tuple[int, int], int]:
        """The bytes of each connection that became no message, less an allowance at each call."""
        kept: dict[tuple[int, int], int] = {}
        allowances: dict[tuple[int, int], int] = {}
        for name in connections_to(self._ports):
            with contextlib.suppress(OSError):
                num_read, num_arrived = progress_of(name[0])
                num_received, num_sent = self._connections.num_bytes_of(name)
                num_unfinished = max(0, num_read - num_received) + max(0, num_sent - num_arrived)
                # Handshakes and heartbeats become no message either.
                allowances[name] = num_unfinished if num_unfinished <= ALLOWED_BYTES else self._allowances.get(name, 0)
                kept[name] = num_unfinished - allowances[name]
        self._allowances = allowances
        return kept

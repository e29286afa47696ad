"""Closes connections that have sent nothing when file descriptors run out.

At the limit ZeroMQ tries to accept the next connection again and again, and the router can open nothing
itself. ZeroMQ keeps silent connections for the time of a handshake, which is then too long.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import resource
import socket
import stat
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from cactus_actors.process.throttled_log import ThrottledLog
from cactus_actors.router.auth.open_sockets import borrowed, is_connection_to, ports_of

MIN_MARGIN, MAX_MARGIN = 16, 128
MAX_SILENCE_S = 0.25
"""Seconds for which a connection may be silent while descriptors are scarce; the client reconnects."""

HasSent = Callable[[int, int], bool]
"""(descriptor, inode) -> True if that connection has sent a message."""

_log = ThrottledLog(logging.getLogger(__name__), interval_s=10.0)


class FdPressure:
    """Monitors the descriptors of the process; counts each connection that it closes in `refused`."""

    def __init__(self, has_sent: HasSent, refused: Counter[str]) -> None:
        self._has_sent = has_sent
        self._refused = refused
        self._ports: frozenset[int] = frozenset()
        self._silent_since: dict[tuple[int, int], float] = {}
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft < hard:
            with contextlib.suppress(OSError, ValueError):
                resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        self._limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        self._margin = max(MIN_MARGIN, min(MAX_MARGIN, self._limit // 8))

    def watch(self, endpoints: Sequence[str]) -> None:
        """Connections to these endpoints may be closed."""
        self._ports = ports_of(endpoints)

    def on_tick(self, now: float) -> None:
        """Close silent connections if descriptors are scarce; called several times a second, cheap otherwise."""
        if not self._is_under_pressure():
            self._silent_since.clear()
            return
        _log.warning("the limit of %d file descriptors is almost reached: idle connections are closed", self._limit)
        silent = {name: self._silent_since.get(name, now) for name in self._silent()}
        for name, since in silent.items():
            if now - since >= MAX_SILENCE_S:
                self._close(name[0])
        self._silent_since = silent

    def _is_under_pressure(self) -> bool:
        """True if the lowest free descriptor, which the next file gets, is one of the last."""
        try:
            lowest = os.dup(0)
        except OSError as error:
            return error.errno in (errno.EMFILE, errno.ENFILE)  # else 0 itself is free
        os.close(lowest)
        return lowest >= self._limit - self._margin

    def _silent(self) -> Iterator[tuple[int, int]]:
        for descriptor in range(self._limit):
            with contextlib.suppress(OSError):  # the descriptor is free, or has just been closed
                status = os.fstat(descriptor)
                is_silent = not self._has_sent(descriptor, status.st_ino)
                is_socket = stat.S_ISSOCK(status.st_mode)
                if is_silent and is_socket and is_connection_to(self._ports, descriptor):
                    yield descriptor, status.st_ino

    def _close(self, descriptor: int) -> None:
        self._refused["silent"] += 1
        with contextlib.suppress(OSError), borrowed(descriptor) as connection:
            connection.shutdown(socket.SHUT_RDWR)

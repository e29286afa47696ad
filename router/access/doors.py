"""The endpoints that the router listens on, shut while too few file descriptors are left.

At the limit ZeroMQ would try to accept the next connection again and again, on a whole core, and the router
could open nothing itself. Those who are connected notice nothing; those who come try again later.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import resource
from pathlib import Path

import zmq

from router.access.sockets import bind

MIN_MARGIN, MAX_MARGIN = 16, 128
REST_S = 1.0
"""How long the doors stay shut at least; silent connections are ended by ZeroMQ meanwhile."""
LOOK_INTERVAL_S = 0.5

_log = logging.getLogger(__name__)


class Doors:
    """Binds sockets, and shuts and opens their endpoints again; for the thread that they belong to."""

    def __init__(self) -> None:
        self.num_shut = 0
        self._open: list[tuple[zmq.Socket[bytes], str]] = []
        self._shut: list[tuple[zmq.Socket[bytes], str]] = []
        self._rests_until = 0.0
        self._look_at = 0.0
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft < hard:
            with contextlib.suppress(OSError, ValueError):
                resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        self._limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        self._margin = max(MIN_MARGIN, min(MAX_MARGIN, self._limit // 8))

    def bind(self, socket: zmq.Socket[bytes], endpoint: str) -> str:
        """The endpoint as it is, ports resolved; raises ConfigurationInvalid."""
        bound = bind(socket, endpoint)
        self._open.append((socket, bound))
        return bound

    def tend(self, now: float) -> None:
        """Look how many descriptors are left; to be called several times a second."""
        if now < self._look_at:
            return
        num_open = _num_descriptors()
        num_left = 0 if num_open is None else self._limit - num_open
        if num_left > 8 * self._margin:  # it takes a while to use up so many
            self._look_at = now + LOOK_INTERVAL_S
        if self._open and num_left < self._margin:
            self._shut_all(now, num_left)
        elif self._shut and num_left > 2 * self._margin and now >= self._rests_until:
            self._open_all(now)

    def _shut_all(self, now: float, num_left: int) -> None:
        _log.warning("%d of %d file descriptors are left: no connection is accepted", num_left, self._limit)
        self.num_shut += 1
        self._rests_until = now + REST_S
        for socket, endpoint in self._open:
            socket.unbind(endpoint)
        self._open, self._shut = [], self._open

    def _open_all(self, now: float) -> None:
        while self._shut:
            socket, endpoint = self._shut[0]
            try:
                socket.bind(endpoint)
            except zmq.ZMQError as error:  # ZeroMQ may not have let go of it yet
                _log.warning("%s cannot be listened on again yet: %s", endpoint, error.strerror)
                self._rests_until = now + REST_S
                return
            self._open.append(self._shut.pop(0))


def _num_descriptors() -> int | None:
    """Open ones, without the one that lists them; None if there is none left for that."""
    try:
        return sum(1 for _ in Path("/dev/fd").iterdir()) - 1
    except OSError as error:
        return None if error.errno == errno.EMFILE else 0

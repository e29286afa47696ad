"""A connection with a deadline for all its reads and writes together."""

from __future__ import annotations

import http.client
import io
import socket
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


class TimedConnection:
    """Reads and writes a socket until the time `until` of the monotonic clock, and raises TimeoutError after it.

    The timeout of a socket applies to each read alone: a server that sends a byte now and then would never reach it.
    """

    def __init__(self, connected: socket.socket, until: float) -> None:
        self._connected = connected
        self._until = until

    def send(self, content: bytes) -> None:
        self._connected.settimeout(time_left(self._until))
        self._connected.sendall(content)

    def answer(self) -> http.client.HTTPResponse:
        """The answer to a GET request, after its headers have been read."""
        answer = http.client.HTTPResponse(self, method="GET")  # type: ignore[arg-type]  # it only calls makefile
        answer.begin()
        return answer

    def makefile(self, _mode: str) -> io.BufferedReader:
        """The bytes of the answer as a file."""
        return io.BufferedReader(_TimedBytes(self._connected, self._until))


class _TimedBytes(io.RawIOBase):
    def __init__(self, connected: socket.socket, until: float) -> None:
        super().__init__()
        self._connected = connected
        self._until = until

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        self._connected.settimeout(time_left(self._until))
        return self._connected.recv_into(buffer)


def time_left(until: float) -> float:
    """The seconds left; raises TimeoutError after the deadline."""
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left

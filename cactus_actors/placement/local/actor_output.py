"""Passes the output of actor processes on as messages of the service."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

MAX_LINES_PER_SECOND = 20
MAX_LINE_BYTES = 2000
_MAX_READ = 65_536


class ActorOutput:
    """Announces lines written to a pipe, with the actor's name, at most MAX_LINES_PER_SECOND per second."""

    def __init__(self, name: str, announce: Callable[[str], None]) -> None:
        self._name = name
        self._announce = announce
        self._rest = b""
        self._second, self._num_lines = 0, 0
        self.has_ended = False
        self.reader, self.writer = os.pipe()
        os.set_blocking(self.reader, False)
        os.set_blocking(self.writer, False)  # an actor never blocks on its output

    def read(self) -> bool:
        """Announce the complete lines received; returns whether anything was read."""
        try:
            received = os.read(self.reader, _MAX_READ)
        except BlockingIOError:
            return False
        self.has_ended = not received
        *lines, rest = (self._rest + received).split(b"\n")
        self._rest = rest[:MAX_LINE_BYTES]
        for line in lines:
            self._announce_line(line)
        return bool(received)

    def close(self) -> None:
        """Announce the rest and close the pipe."""
        while self.read():
            pass
        self._announce_line(self._rest)
        os.close(self.reader)

    def _announce_line(self, line: bytes) -> None:
        text = line[:MAX_LINE_BYTES].decode(errors="replace").rstrip()
        if not text:
            return
        second = int(time.monotonic())
        if second != self._second:
            self._second, self._num_lines = second, 0
        self._num_lines += 1
        if self._num_lines <= MAX_LINES_PER_SECOND:
            self._announce(f"{self._name}: {text}")
        elif self._num_lines == MAX_LINES_PER_SECOND + 1:
            self._announce(f"{self._name}: more lines are dropped")

"""What the processes of actors write, as lines of the service."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

LINES_A_SECOND = 20
MAX_LINE_BYTES = 2000
_MAX_READ = 65_536


class ActorOutput:
    """Hands on, with the actor's name, the lines that are written to a pipe; of many only the first."""

    def __init__(self, name: str, announce: Callable[[str], None]) -> None:
        self._name = name
        self._announce = announce
        self._rest = b""
        self._second, self._num_lines = 0, 0
        self.has_ended = False
        self.reader, self.writer = os.pipe()
        os.set_blocking(self.reader, False)
        os.set_blocking(self.writer, False)  # an actor never waits for who reads this

    def read(self) -> bool:
        """Hand on the whole lines that are there; whether anything was."""
        try:
            received = os.read(self.reader, _MAX_READ)
        except BlockingIOError:
            return False
        self.has_ended = not received
        *lines, rest = (self._rest + received).split(b"\n")
        self._rest = rest[:MAX_LINE_BYTES]
        for line in lines:
            self._hand_on(line)
        return bool(received)

    def close(self) -> None:
        """Hand on all that is left."""
        while self.read():
            pass
        self._hand_on(self._rest)
        os.close(self.reader)

    def _hand_on(self, line: bytes) -> None:
        text = line[:MAX_LINE_BYTES].decode(errors="replace").rstrip()
        if not text:
            return
        second = int(time.monotonic())
        if second != self._second:
            self._second, self._num_lines = second, 0
        self._num_lines += 1
        if self._num_lines <= LINES_A_SECOND:
            self._announce(f"{self._name}: {text}")
        elif self._num_lines == LINES_A_SECOND + 1:
            self._announce(f"{self._name}: more lines are left out")

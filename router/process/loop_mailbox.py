"""Passes calls of other threads to the thread that owns the sockets."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable


class LoopMailbox:
    """A queue of calls that wakes a poller which has it as a source."""

    def __init__(self) -> None:
        self._waiting: deque[Callable[[], None]] = deque()
        self._reader, self._writer = os.pipe()
        self._lock = threading.Lock()
        self._is_woken = self._is_closed = False

    def fileno(self) -> int:
        """The descriptor to poll."""
        return self._reader

    def post(self, action: Callable[[], None], *, wakes: bool = True) -> None:
        """Queue `action`, from any thread; it is never called once this is closed.

        Without `wakes` it is called when the loop runs for another reason.
        """
        self._waiting.append(action)
        if wakes:
            self._wake()

    def _wake(self) -> None:
        """Have the queued calls made now."""
        with self._lock:
            if not (self._is_woken or self._is_closed):
                self._is_woken = True
                os.write(self._writer, b"\0")

    def run_pending(self) -> None:
        """Make the calls queued before this one, in order; later ones wait for the next turn."""
        with self._lock:
            if self._is_woken:
                self._is_woken = False
                os.read(self._reader, 1)
        for _ in range(len(self._waiting)):
            self._waiting.popleft()()

    def close(self) -> None:
        """Accept no more calls; a second time changes nothing."""
        with self._lock:
            if not self._is_closed:
                self._is_closed = True
                os.close(self._reader)
                os.close(self._writer)

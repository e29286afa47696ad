"""A log whose repeated messages cannot fill the disk."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable


class ThrottledLog:
    """Logs at most one warning in `interval_s` seconds; the next one says how many were left out."""

    def __init__(
        self, logger: logging.Logger, interval_s: float = 1.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._logger = logger
        self._interval_s = interval_s
        self._clock = clock
        self._next_at = float("-inf")
        self._num_left_out = 0

    def warning(self, message: str, *values: object) -> None:
        now = self._clock()
        if now < self._next_at:
            self._num_left_out += 1
            return
        if self._num_left_out:
            message = f"{message} (%d similar messages before it were left out)"
            values = (*values, self._num_left_out)
        self._next_at, self._num_left_out = now + self._interval_s, 0
        self._logger.warning(message, *values, stacklevel=2)

"""Delays between restarts of a failing process."""

from __future__ import annotations

from dataclasses import dataclass

FIRST_BACKOFF_S = 1.0
MAX_BACKOFF_S = 32.0
STABLE_AFTER_S = 30.0


@dataclass
class Backoff:
    """No delay after the first failure, then 1 s, doubling up to MAX_BACKOFF_S.

    A run of STABLE_AFTER_S resets the delay. Time is an argument, in seconds.
    """

    not_before: float = 0.0
    _next_delay_s: float = 0.0

    def on_failed(self, now: float, lived_s: float) -> float:
        """Record that a process ended after `lived_s` seconds; returns the seconds until it may be started again."""
        if lived_s >= STABLE_AFTER_S:
            self._next_delay_s = 0.0
        delay = self._next_delay_s
        self._next_delay_s = min(MAX_BACKOFF_S, max(FIRST_BACKOFF_S, delay * 2))
        self.not_before = now + delay
        return delay

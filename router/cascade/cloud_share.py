"""The share of jobs that may be handed off."""

from __future__ import annotations

BURST = 10.0


class CloudShare:
    """Allows at most `max_share` * n + BURST handoffs in any n consecutive jobs; a share of 1 is no limit."""

    def __init__(self, max_share: float) -> None:
        self._max_share = max_share
        self._credit = BURST

    def on_job(self) -> None:
        """Record the start of a job that could be handed off."""
        self._credit = min(BURST, self._credit + self._max_share)

    @property
    def is_spent(self) -> bool:
        """True if no job may be handed off now."""
        return self._max_share < 1.0 and self._credit < 1.0

    def spend(self) -> None:
        """Record that a job is handed off."""
        self._credit -= 1.0

    def refund(self) -> None:
        """Record that a job was not handed off after all."""
        self._credit = min(BURST, self._credit + 1.0)

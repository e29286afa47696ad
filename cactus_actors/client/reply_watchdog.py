"""Decides when a client reconnects because replies are overdue, though TCP reports no error. No I/O."""

from __future__ import annotations

REPLY_TIMEOUT_S = 4.0
MIN_LINK_BYTES_PER_S = 8_000
"""The slowest supported link: 64 kbit/s."""


class ReplyWatchdog:
    """Measures how long a reply is overdue; each reconnection doubles the timeout until a reply arrives."""

    def __init__(self) -> None:
        self._since: float | None = None
        self._num_bytes = 0
        self._timeout_s = REPLY_TIMEOUT_S

    def on_sent(self, num_bytes: int, now: float) -> None:
        if self._since is None:
            self._since = now
        self._num_bytes += num_bytes

    def on_reply(self) -> None:
        """Any reply arrived."""
        self.on_idle()
        self._timeout_s = REPLY_TIMEOUT_S

    def on_idle(self) -> None:
        """No reply is pending any more."""
        self._since = None
        self._num_bytes = 0

    def has_expired(self, now: float) -> bool:
        """True if the client should reconnect; includes the time that a slow link needs for the sent bytes."""
        if self._since is None:
            return False
        return now - self._since > self._timeout_s + self._num_bytes / MIN_LINK_BYTES_PER_S

    def on_reconnected(self, now: float) -> None:
        """Record that the client reconnected and repeats its requests."""
        self._since = now
        self._num_bytes = 0
        self._timeout_s *= 2

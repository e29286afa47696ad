"""When a client connects anew: nothing that it asks is answered, though TCP finds nothing wrong. No I/O."""

from __future__ import annotations

REPLY_TIMEOUT_S = 4.0
MIN_LINK_BYTES_PER_S = 8_000
"""What a link carries at least: 64 kbit/s."""


class ReplyWatchdog:
    """How long the service has owed an answer; each time in vain is waited for twice as long as the last."""

    def __init__(self) -> None:
        self._since: float | None = None
        self._num_bytes = 0
        self._timeout_s = REPLY_TIMEOUT_S

    def on_sent(self, num_bytes: int, now: float) -> None:
        """Something was sent that has an answer."""
        if self._since is None:
            self._since = now
        self._num_bytes += num_bytes

    def on_reply(self) -> None:
        """Something was answered, whatever it was."""
        self.on_idle()
        self._timeout_s = REPLY_TIMEOUT_S

    def on_idle(self) -> None:
        """Nobody waits for an answer any more."""
        self._since = None
        self._num_bytes = 0

    def has_expired(self, now: float) -> bool:
        """Whether to connect anew; what was sent has had the time that a slow link takes for it."""
        if self._since is None:
            return False
        return now - self._since > self._timeout_s + self._num_bytes / MIN_LINK_BYTES_PER_S

    def on_reconnected(self, now: float) -> None:
        """All that was sent is to be asked again."""
        self._since = now
        self._num_bytes = 0
        self._timeout_s *= 2

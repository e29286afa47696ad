"""When a client connects anew: nothing that it asks is answered, though TCP finds nothing wrong. No I/O."""

from __future__ import annotations

PATIENCE_S = 4.0
SLOWEST_LINK_BYTES_S = 8_000
"""What a link carries at least: 64 kbit/s."""


class Silence:
    """How long the service has owed an answer; each time in vain is waited for twice as long as the last."""

    def __init__(self) -> None:
        self._since: float | None = None
        self._num_bytes = 0
        self._patience_s = PATIENCE_S

    def on_asked(self, num_bytes: int, now: float) -> None:
        """Something was sent that has an answer."""
        if self._since is None:
            self._since = now
        self._num_bytes += num_bytes

    def on_heard(self) -> None:
        """Something was answered, whatever it was."""
        self.on_nothing_awaited()
        self._patience_s = PATIENCE_S

    def on_nothing_awaited(self) -> None:
        """Nobody waits for an answer any more."""
        self._since = None
        self._num_bytes = 0

    def is_too_long(self, now: float) -> bool:
        """Whether to connect anew; what was sent has had the time that a slow link takes for it."""
        if self._since is None:
            return False
        return now - self._since > self._patience_s + self._num_bytes / SLOWEST_LINK_BYTES_S

    def on_connected_anew(self, now: float) -> None:
        """All that was sent is to be asked again."""
        self._since = now
        self._num_bytes = 0
        self._patience_s *= 2

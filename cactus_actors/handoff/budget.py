"""How much may be asked of the cloud: at once, and in all."""

from __future__ import annotations


class Budget:
    """Counts jobs, not HTTP requests: the retries of a job are one."""

    def __init__(self, *, max_concurrent: int, max_requests: int | None) -> None:
        self._max_concurrent = max_concurrent
        self._max_requests = max_requests
        self.num_running = 0
        self.num_started = 0

    @property
    def is_spent(self) -> bool:
        """Whether no job may ever start again."""
        return self._max_requests is not None and self.num_started >= self._max_requests

    @property
    def free_slots(self) -> int:
        """How many jobs may start now."""
        free = self._max_concurrent - self.num_running
        left = free if self._max_requests is None else self._max_requests - self.num_started
        return max(0, min(free, left))

    def start(self) -> None:
        """A job starts; there must be a free slot."""
        assert self.free_slots > 0
        self.num_running += 1
        self.num_started += 1

    def end(self) -> None:
        """A started job ended, however it did."""
        assert self.num_running > 0
        self.num_running -= 1

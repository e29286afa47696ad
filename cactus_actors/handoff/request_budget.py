"""Limits of requests to the cloud: concurrent, and in total."""

from __future__ import annotations


class RequestBudget:
    """Limits concurrent jobs and the total number of HTTP requests, retries included."""

    def __init__(self, *, max_concurrent: int, max_requests: int | None) -> None:
        self._max_concurrent = max_concurrent
        self._max_requests = max_requests
        self.num_running = 0
        self.num_started = 0
        self.num_requests = 0

    @property
    def is_spent(self) -> bool:
        """True if no further request may be sent."""
        return self._max_requests is not None and self.num_requests >= self._max_requests

    @property
    def has_room(self) -> bool:
        """True if fewer jobs run than may run at once, whatever was spent."""
        return self.num_running < self._max_concurrent

    @property
    def free_slots(self) -> int:
        """The number of jobs that may start now; jobs that start together may still find the budget spent."""
        free = self._max_concurrent - self.num_running
        left = free if self._max_requests is None else self._max_requests - self.num_requests
        return max(0, min(free, left))

    def start(self) -> None:
        """Record that a job starts; requires a free slot."""
        assert self.free_slots > 0
        self.num_running += 1
        self.num_started += 1

    def end(self) -> None:
        """Record that a started job has ended."""
        assert self.num_running > 0
        self.num_running -= 1

    def spend(self) -> None:
        """Record that a request is sent; requires that the budget is not spent."""
        assert not self.is_spent
        self.num_requests += 1

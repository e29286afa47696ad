"""A circuit breaker: after consecutive failures no request is sent for a while, then one probe at a time."""

from __future__ import annotations

from typing import Literal, NewType

from cactus_actors.protocol.totals import BreakerState

BreakerOutcome = Literal["success", "failure", "neutral"]

# A permit holds the period it was issued in, so that a late outcome does not count for a later period.
Permit = NewType("Permit", int)

SUCCESSES_TO_CLOSE = 2


class CircuitBreaker:
    """Times are monotonic seconds. Every permit from `admit` must be returned through `record`.

    The caller classifies outcomes: faults of the cloud are failures; refused requests and backpressure are neutral,
    or a burst of bad requests would open the breaker for all.
    """

    def __init__(self, *, max_failures: int, open_s: float) -> None:
        self._max_failures = max_failures
        self._open_s = open_s
        self._period = 0
        self._opened_at: float | None = None
        self._failures_in_a_row = 0
        self._probe_successes = 0
        self._probing = False

    def state(self, now: float) -> BreakerState:
        """An open breaker becomes half-open by time alone."""
        if self._opened_at is None:
            return "closed"
        return "open" if now < self._opened_at + self._open_s else "half_open"

    def admits(self, now: float) -> bool:
        """True if `admit` would return a permit."""
        state = self.state(now)
        return state == "closed" or (state == "half_open" and not self._probing)

    def admit(self, now: float) -> Permit | None:
        """A permit for one request, or None."""
        if not self.admits(now):
            return None
        self._probing = self._opened_at is not None
        return Permit(self._period)

    def record(self, permit: Permit, outcome: BreakerOutcome, now: float) -> None:
        """Record the outcome of the permitted request."""
        if permit != self._period:
            return
        if self._opened_at is None:
            self._record_while_closed(outcome, now)
        else:
            self._record_probe(outcome, now)

    def _record_while_closed(self, outcome: BreakerOutcome, now: float) -> None:
        if outcome == "success":
            self._failures_in_a_row = 0
        elif outcome == "failure":
            self._failures_in_a_row += 1
            if self._failures_in_a_row >= self._max_failures:
                self._enter(opened_at=now)

    def _record_probe(self, outcome: BreakerOutcome, now: float) -> None:
        self._probing = False
        if outcome == "failure":
            self._enter(opened_at=now)
        elif outcome == "success":
            self._probe_successes += 1
            if self._probe_successes >= SUCCESSES_TO_CLOSE:
                self._enter(opened_at=None)

    def _enter(self, opened_at: float | None) -> None:
        self._opened_at = opened_at
        self._period += 1
        self._failures_in_a_row = 0
        self._probe_successes = 0
        self._probing = False

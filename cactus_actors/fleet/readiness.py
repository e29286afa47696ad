"""Waiting for actors to become ready, as long as there is progress."""

from __future__ import annotations

import time
from typing import Any

from cactus_actors.fleet.actor_handle import MAX_STEP_S
from cactus_actors.placement.interface import ActorFuture
from cactus_actors.process.starvation import FairSeconds
from cactus_actors.protocol.errors import Unavailable

POLL_INTERVAL_S = 0.02


class StallTimeout:
    """A timeout that progress resets. Time is an argument, and counts less while the machine is under CPU pressure."""

    def __init__(self, limit_s: float, now: float) -> None:
        self._limit_s = limit_s
        self._seen: object = None
        self._stalled = FairSeconds(None, now, MAX_STEP_S)

    def check(self, now: float, seen: object, what: str) -> None:
        """Raise Unavailable, naming `what` is awaited, if `seen` has not changed within the limit."""
        if seen != self._seen:
            self._seen, self._stalled = seen, FairSeconds(None, now, MAX_STEP_S)
        elif self._stalled.elapsed(now) > self._limit_s:
            raise Unavailable(
                f"no progress for {self._limit_s:g} s: {what} "
                "(--ready-timeout, or ready_timeout_s in the configuration, allows more)"
            )


def await_result(answer: ActorFuture, limit_s: float, what: str) -> Any:
    """Wait for a result; raises the call's error, and Unavailable after `limit_s` seconds without it."""
    timeout = StallTimeout(limit_s, time.monotonic())
    while not answer.done():
        timeout.check(time.monotonic(), None, what)
        time.sleep(POLL_INTERVAL_S)
    return answer.result(0.0)

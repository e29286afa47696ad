"""Waiting for a start, as long as something goes on."""

from __future__ import annotations

import time
from typing import Any

from cactus_actors.fleet.actor_handle import MAX_STEP_S
from cactus_actors.placement.interface import Answer
from cactus_actors.process.starvation import FairSeconds
from cactus_actors.protocol.errors import Unavailable

LOOK_INTERVAL_S = 0.02


class Patience:
    """Bounds how long nothing may go on; time is an argument, and counts less on a machine under pressure."""

    def __init__(self, limit_s: float, now: float) -> None:
        self._limit_s = limit_s
        self._seen: object = None
        self._still = FairSeconds(None, now, MAX_STEP_S)

    def check(self, now: float, seen: object, what: str) -> None:
        """Raises Unavailable, naming `what` is waited for, once `seen` has not changed for too long."""
        if seen != self._seen:
            self._seen, self._still = seen, FairSeconds(None, now, MAX_STEP_S)
        elif self._still.look(now) > self._limit_s:
            raise Unavailable(
                f"nothing went on for {self._limit_s:g} s: {what} "
                "(--ready-timeout, or ready_timeout_s in the configuration, allows more)"
            )


def await_answer(answer: Answer, limit_s: float, what: str) -> Any:
    """The answer; raises what it raises, and Unavailable once `what` is waited for in vain."""
    patience = Patience(limit_s, time.monotonic())
    while not answer.is_there():
        patience.check(time.monotonic(), None, what)
        time.sleep(LOOK_INTERVAL_S)
    return answer.value(0.0)

"""A handle to a running actor that polls its health."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any

from cactus_actors.placement.interface import Actor, ActorFuture
from cactus_actors.process.starvation import FairSeconds
from cactus_actors.protocol.errors import CactusError

HEALTH_INTERVAL_S = 1.0
LATE_AFTER_S = 1.0
"""An answer later than this is timed with FairSeconds."""
MAX_STEP_S = 0.5
"""The most that counts between two polls, which are half of it apart unless the supervisor itself was delayed."""


@dataclass(frozen=True, kw_only=True)
class HealthTimeouts:
    """Seconds in which an actor could have answered, after which it is replaced.

    `hung_s` is for an answer to `health`. `stuck_s` is for the main loop of a worker whose other threads answer: a
    step is kept shorter than a heartbeat, and takes longer where many workers share a core. `stop_s` is the time in
    which an actor ends after a call of its `stop`.
    """

    hung_s: float = 10.0
    stuck_s: float = 20.0
    stop_s: float = 3.0


DEFAULT_HEALTH_TIMEOUTS = HealthTimeouts()


class ActorHandle:
    """Polls the health of an actor; time is an argument.

    Only the seconds in which the actor's process could run count towards a timeout.
    """

    def __init__(self, actor: Actor, timeouts: HealthTimeouts) -> None:
        self.actor = actor
        self.has_answered = False
        self._timeouts = timeouts
        self._question: ActorFuture | None = None
        self._requested_at = float("-inf")
        self._late: FairSeconds | None = None

    def health(self, now: float, interval_s: float = HEALTH_INTERVAL_S) -> Any | None:
        """A new answer to `health`, which is requested every `interval_s`; None if there is no new one."""
        if self._question is None:
            if self.actor.is_placed and now - self._requested_at >= interval_s:
                self._question, self._requested_at = self.actor.ask("health"), now
            return None
        if not self._question.done():
            return None
        question, self._question, self._late = self._question, None, None
        with contextlib.suppress(CactusError):  # its exit gives the reason
            answer = question.result(0.0)
            self.has_answered = True
            return answer
        return None

    def is_hung(self, now: float) -> bool:
        """True if an answer is overdue by `hung_s`: the process is stopped, or holds its interpreter."""
        if self._question is None or now - self._requested_at < LATE_AFTER_S:
            return False
        if self._late is None:
            self._late = FairSeconds(self.actor.pid, now, MAX_STEP_S)
        return self._late.elapsed(now) > self._timeouts.hung_s - LATE_AFTER_S

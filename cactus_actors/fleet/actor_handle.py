"""An actor under watch: whether it still answers."""

from __future__ import annotations

import contextlib
from typing import Any

from cactus_actors.placement.interface import Actor, ActorExit, ActorFuture
from cactus_actors.process.starvation import FairSeconds
from cactus_actors.protocol.errors import CactusError

HUNG_AFTER_S = 10.0
HEALTH_INTERVAL_S = 1.0
LATE_AFTER_S = 1.0
"""An answer that takes longer is looked at more closely."""
MAX_STEP_S = 0.5
"""What counts between two looks: they are half of that apart, unless the supervisor itself was held up."""


class ActorHandle:
    """Asks an actor for its health again and again; time is an argument.

    Of the time that an answer takes only the seconds count in which the actor was let run.
    """

    def __init__(self, actor: Actor) -> None:
        self.actor = actor
        self._question: ActorFuture | None = None
        self._asked_at = float("-inf")
        self._late: FairSeconds | None = None

    def exit_info(self) -> ActorExit | None:
        """How it ended; None while it lives."""
        return self.actor.exit_info()

    def health(self, now: float, interval_s: float = HEALTH_INTERVAL_S) -> Any | None:
        """Its answer to `health`, asked for every `interval_s`, each once; None while there is no new one."""
        if self._question is None:
            if self.actor.is_placed and now - self._asked_at >= interval_s:
                self._question, self._asked_at = self.actor.ask("health"), now
            return None
        if not self._question.done():
            return None
        question, self._question, self._late = self._question, None, None
        with contextlib.suppress(CactusError):  # its exit tells why
            return question.result(0.0)
        return None

    def is_hung(self, now: float) -> bool:
        """Whether it has owed an answer for HUNG_AFTER_S: it is stopped, or holds its interpreter."""
        if self._question is None or now - self._asked_at < LATE_AFTER_S:
            return False
        if self._late is None:
            self._late = FairSeconds(self.actor.pid, now, MAX_STEP_S)
        return self._late.look(now) > HUNG_AFTER_S - LATE_AFTER_S

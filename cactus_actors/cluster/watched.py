"""An actor under watch: whether it still answers."""

from __future__ import annotations

import contextlib
from typing import Any

from cactus_actors.placement.interface import Actor, Answer, Ending
from cactus_actors.protocol.errors import CactusError

HUNG_AFTER_S = 10.0
HEALTH_INTERVAL_S = 1.0


class Watched:
    """Asks an actor for its health again and again; time is an argument."""

    def __init__(self, actor: Actor) -> None:
        self.actor = actor
        self._question: Answer | None = None
        self._asked_at = float("-inf")

    def ending(self) -> Ending | None:
        """How it ended; None while it lives."""
        return self.actor.ending()

    def health(self, now: float) -> Any | None:
        """Its answer to `health`, each once; None while there is no new one."""
        if self._question is None:
            if self.actor.is_placed and now - self._asked_at >= HEALTH_INTERVAL_S:
                self._question, self._asked_at = self.actor.ask("health"), now
            return None
        if not self._question.is_there():
            return None
        question, self._question = self._question, None
        with contextlib.suppress(CactusError):  # its ending tells why
            return question.value(0.0)
        return None

    def is_hung(self, now: float) -> bool:
        """Whether it has owed an answer for HUNG_AFTER_S: it is stopped, or holds its interpreter."""
        return self._question is not None and now - self._asked_at > HUNG_AFTER_S

"""An actor that a service runs exactly once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cactus_actors.fleet.actor_handle import DEFAULT_HEALTH_TIMEOUTS, ActorHandle, HealthTimeouts
from cactus_actors.placement.interface import Actor, PlacementLost
from cactus_actors.process.backoff import Backoff
from cactus_actors.protocol.errors import CactusError


class Singleton:
    """Starts one actor and replaces it when it ends or hangs; `what` is its name in messages.

    `place` starts its process; `begin` calls its `start`, if it has one, and `run`, and returns whether it awaited
    an answer. Both raise CactusError. `on_lost` is called after it has ended.
    """

    def __init__(
        self,
        what: str,
        place: Callable[[], Actor],
        begin: Callable[[Actor], bool],
        announce: Callable[[str], None],
        on_lost: Callable[[], None] = lambda: None,
        timeouts: HealthTimeouts = DEFAULT_HEALTH_TIMEOUTS,
    ) -> None:
        self._timeouts = timeouts
        self._what = what
        self._place = place
        self._begin = begin
        self._announce = announce
        self._on_lost = on_lost
        self._backoff = Backoff()
        self._started_at = 0.0
        self._handle: ActorHandle | None = None

    @property
    def actor(self) -> Actor | None:
        """The placed actor, if there is one."""
        return None if self._handle is None else self._handle.actor

    @property
    def loading_actor(self) -> Actor | None:
        """The placed actor, if it has not answered any call."""
        return None if self._handle is None or self._handle.has_answered else self._handle.actor

    def place(self, now: float) -> None:
        """Start its process; raises CactusError."""
        self._started_at = now
        self._handle = ActorHandle(self._place(), self._timeouts)

    def begin(self) -> None:
        """Call its `start` and `run`; raises CactusError, with nothing left running."""
        assert self._handle is not None
        try:
            self._handle.has_answered = self._begin(self._handle.actor)
        except CactusError:
            self._handle.actor.terminate()
            self._handle = None
            raise

    def reconcile(self, now: float) -> Any | None:
        """Replace the actor if needed; returns new health information, if any. Raises PlacementLost."""
        if self._handle is None:
            if now >= self._backoff.not_before:
                self._restart(now)
            return None
        if exit_info := self._handle.actor.exit_info():
            self._handle.actor.terminate()
            self._handle = None
            delay = self._backoff.on_failed(now, now - self._started_at)
            when = f" in {delay:.0f} s" if delay else ""
            self._announce(f"{self._what} ended ({exit_info.reason}); it restarts{when}")
            self._on_lost()
            return self.reconcile(now)
        if self._handle.is_hung(now):
            self._announce(f"{self._what} does not answer; it is killed")
            self._handle.actor.terminate()
            return None
        return self._handle.health(now)

    def notify(self, method: str, *arguments: object) -> None:
        """Call a method without waiting for its result, if the actor is placed."""
        if self._handle is not None:
            self._handle.actor.notify(method, *arguments)

    def _restart(self, now: float) -> None:
        try:
            self.place(now)
            self.begin()
        except PlacementLost:
            raise
        except CactusError as error:
            delay = self._backoff.on_failed(now, 0.0)
            self._announce(f"{self._what} did not start: {error.message}; next attempt in {delay:.0f} s")

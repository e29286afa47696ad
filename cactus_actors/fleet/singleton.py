"""An actor of which a service has exactly one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cactus_actors.fleet.actor_handle import Watched
from cactus_actors.placement.interface import Actor, PlacementLost
from cactus_actors.process.backoff import Backoff
from cactus_actors.protocol.errors import CactusError


class Singleton:
    """Starts one actor, and another in its place when it ends or hangs; `what` is its name in sentences.

    `place` places it; `begin` has it start and begins its `run`. Both raise CactusError. `on_lost` is
    called when it has ended.
    """

    def __init__(
        self,
        what: str,
        place: Callable[[], Actor],
        begin: Callable[[Actor], None],
        announce: Callable[[str], None],
        on_lost: Callable[[], None] = lambda: None,
    ) -> None:
        self._what = what
        self._place = place
        self._begin = begin
        self._announce = announce
        self._on_lost = on_lost
        self._backoff = Backoff()
        self._started_at = 0.0
        self._watched: Watched | None = None

    @property
    def actor(self) -> Actor | None:
        """The one that is placed, if there is one."""
        return None if self._watched is None else self._watched.actor

    def place(self, now: float) -> None:
        """Place it, so that it gets ready to begin; raises CactusError."""
        self._started_at = now
        self._watched = Watched(self._place())

    def begin(self) -> None:
        """Have it begin; raises CactusError, with nothing left running."""
        assert self._watched is not None
        try:
            self._begin(self._watched.actor)
        except CactusError:
            self._watched.actor.end()
            self._watched = None
            raise

    def tend(self, now: float) -> Any | None:
        """Replace it if that is needed; returns its health if there is news of it. Raises PlacementLost."""
        if self._watched is None:
            if now >= self._backoff.not_before:
                self._restart(now)
            return None
        if ending := self._watched.ending():
            self._watched.actor.end()
            self._watched = None
            delay = self._backoff.on_failed(now, now - self._started_at)
            when = f" in {delay:.0f} s" if delay else ""
            self._announce(f"{self._what} ended ({ending.reason}); it restarts{when}")
            self._on_lost()
            return self.tend(now)
        if self._watched.is_hung(now):
            self._announce(f"{self._what} does not answer; it is ended")
            self._watched.actor.end()
            return None
        return self._watched.health(now)

    def tell(self, method: str, *arguments: object) -> None:
        """Call a method whose answer does not matter, if there is somebody to call."""
        if self._watched is not None:
            self._watched.actor.tell(method, *arguments)

    def _restart(self, now: float) -> None:
        try:
            self.place(now)
            self.begin()
        except PlacementLost:
            raise
        except CactusError as error:
            delay = self._backoff.on_failed(now, 0.0)
            self._announce(f"{self._what} did not start: {error.message}; tried again in {delay:.0f} s")

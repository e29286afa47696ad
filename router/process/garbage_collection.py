"""Keeps pauses of the router by garbage collection short."""

from __future__ import annotations

import gc
from types import TracebackType

MAX_BUSY_TICKS = 6_000
"""Ticks with work, ten minutes of them, after more than which a rest is used to examine all objects."""


class ShortCollections:
    """In this context objects are examined for cycles once, at the tick after their creation.

    Python counts objects made and freed, and examines the new ones when more were made: in a router with as many jobs
    as before, these would be all objects of all jobs. Objects in use at a tick are exempt from later collections. They
    are freed when nothing refers to them, as usual, but in a cycle only in a rest. At the end none is exempt, unless
    some were at the beginning.
    """

    def __init__(self, max_busy_ticks: int = MAX_BUSY_TICKS) -> None:
        self._max_busy_ticks = max_busy_ticks
        self._num_busy_ticks = 0

    def __enter__(self) -> ShortCollections:
        self._thresholds, self._had_exempt = gc.get_threshold(), gc.get_freeze_count() > 0
        gc.collect()
        gc.freeze()
        gc.set_threshold(0)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        gc.set_threshold(*self._thresholds)
        if not self._had_exempt:
            gc.unfreeze()

    def on_tick(self, *, is_at_rest: bool) -> None:
        """Examine the objects made since the last tick; in a rest after much work, all of them."""
        if is_at_rest and self._num_busy_ticks > self._max_busy_ticks:
            gc.unfreeze()
            gc.collect()
            self._num_busy_ticks = 0
        else:
            gc.collect(0)
            self._num_busy_ticks += not is_at_rest
        gc.freeze()

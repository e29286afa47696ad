"""Decides which models have workers: an idle one gives them up, and a job brings them back."""

from __future__ import annotations

from collections.abc import Iterable

from cactus_actors.config_models import excess_bytes
from cactus_actors.router.scheduling.model_fleet import ModelFleet


class ModelDemand:
    """Loads models for their jobs, and unloads idle ones; the supervisor follows with their workers.

    A model is unloaded after its `unload_after_s`, or when another one needs its memory: all loaded ones together take
    at most `max_bytes` on each node, wherever workers that are not connected yet will run. Models that find no memory
    are loaded in the order in which they asked for it.

    A worker that leaves finishes the jobs that it has, those that were on their way to it included. So a model is
    unloaded, and at the same moment gets a job, without harm to the job.
    """

    def __init__(self, fleets: Iterable[ModelFleet], max_bytes: int | None = None) -> None:
        self._fleets = [fleet for fleet in fleets if fleet.is_on_demand]
        self._max_bytes = max_bytes

    def on_tick(self, now: float) -> None:
        """Load models that have jobs, and unload those that had none for long enough."""
        if not self._fleets:
            return
        for fleet in self._fleets:
            self._update(fleet, now)
        waiting = [fleet for fleet in self._fleets if fleet.waiting_since is not None]
        for fleet in sorted(waiting, key=lambda it: it.waiting_since or 0.0):
            if not self._make_room(fleet):
                return  # nor may a smaller one take what there is: this one would never find enough
            fleet.load()
        self._make_room()  # a loaded model may have been scaled up

    def _update(self, fleet: ModelFleet, now: float) -> None:
        if fleet.dispatcher.workers.local:
            fleet.is_loading = False
        if fleet.is_busy or fleet.is_awaited or fleet.is_called:
            fleet.idle_since = None
            if not fleet.is_loaded and fleet.waiting_since is None:
                fleet.waiting_since = now
            return
        fleet.waiting_since = None
        if fleet.idle_since is None:
            fleet.idle_since = now
        elif fleet.is_loaded and _is_over(fleet.served.unload_after_s, now - fleet.idle_since):
            fleet.unload()

    def _make_room(self, wanted: ModelFleet | None = None) -> bool:
        """Unload as many idle models as must be for that one, the longest idle first; False if all are too few."""
        loaded = [fleet for fleet in self._fleets if fleet.wanted_workers or fleet is wanted]
        excess = self._excess(loaded)
        idle = [fleet for fleet in loaded if fleet.is_loaded and fleet.idle_since is not None]
        unloaded = []
        for fleet in sorted(idle, key=lambda it: it.idle_since or 0.0):
            if not excess:
                break
            others = [other for other in loaded if other is not fleet]
            if (rest := self._excess(others)) < excess:
                loaded, excess = others, rest
                unloaded.append(fleet)
        if excess:
            return False
        for fleet in unloaded:
            fleet.unload()
        return True

    def _excess(self, fleets: Iterable[ModelFleet]) -> int:
        """The memory of these models beyond the budget."""
        if self._max_bytes is None:
            return 0
        placed = [fleet.placed(fleet.desired_workers) for fleet in fleets]
        return excess_bytes([it for it in placed if it is not None], self._max_bytes)


def _is_over(limit_s: float | None, seconds: float) -> bool:
    return limit_s is not None and seconds >= limit_s

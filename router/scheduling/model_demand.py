"""Decides which models have workers: an idle one gives them up, and a job brings them back."""

from __future__ import annotations

from collections.abc import Iterable

from cactus_actors.router.scheduling.model_fleet import ModelFleet


class ModelDemand:
    """Loads and unloads the models with `unload_after_s`; the supervisor follows with their workers.

    A worker that leaves finishes the jobs that it has, those that were on their way to it included. So a model is
    unloaded, and at the same moment gets a job, without harm to the job.
    """

    def __init__(self, fleets: Iterable[ModelFleet]) -> None:
        self._fleets = [fleet for fleet in fleets if fleet.is_on_demand]

    def on_tick(self, now: float) -> None:
        """Load models that have jobs, and unload those that had none for long enough."""
        for fleet in self._fleets:
            if fleet.dispatcher.workers.local:
                fleet.is_loading = False
            if fleet.is_busy or fleet.is_awaited:
                fleet.idle_since = None
                fleet.load()
            elif fleet.idle_since is None:
                fleet.idle_since = now
            elif fleet.is_loaded and _is_over(fleet.served.unload_after_s, now - fleet.idle_since):
                fleet.unload()


def _is_over(limit_s: float | None, seconds: float) -> bool:
    return limit_s is not None and seconds >= limit_s

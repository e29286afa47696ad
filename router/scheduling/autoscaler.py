"""Sizes the fleets of models whose workers are a range."""

from __future__ import annotations

from collections.abc import Iterable

from cactus_actors.config_scaling import ScalingSettings, WorkerRange
from cactus_actors.router.scheduling.model_fleet import ModelFleet
from cactus_actors.router.scheduling.scaling_policy import FleetLoad, ScalingPolicy

INTERVAL_S = 1.0


class Autoscaler:
    """Asks the policy of each fleet once a second; the supervisor follows with the workers.

    A fleet whose policy wants no worker is unloaded: its next job loads it, with its least workers, which find memory
    first. Fleets whose number an operator has set are left alone.
    """

    def __init__(self, fleets: Iterable[ModelFleet], settings: ScalingSettings, max_bytes: int | None = None) -> None:
        self._fleets = [
            (fleet, _affordable(fleet, size, max_bytes)) for fleet in fleets if (size := fleet.served.size) is not None
        ]
        self._settings = settings
        self._policies: dict[str, ScalingPolicy] = {}
        self._looked_at = float("-inf")

    def on_tick(self, now: float) -> None:
        """Follow the loads, once a second."""
        if now - self._looked_at < INTERVAL_S:
            return
        self._looked_at = now
        for fleet, size in self._fleets:
            if fleet.is_size_fixed:
                self._policies.pop(fleet.name, None)
            else:
                self._follow(fleet, size, now)

    def _follow(self, fleet: ModelFleet, size: WorkerRange, now: float) -> None:
        policy = self._policies.get(fleet.name)
        if policy is None:
            policy = ScalingPolicy(size, self._settings, int(size.clip(fleet.wanted_workers)), now)
            self._policies[fleet.name] = policy
        before = policy.workers
        workers = policy.update(load_of(fleet, now), now)
        if workers != before:
            fleet.scaling_reason = policy.reason
            fleet.num_scaled["up" if workers > before else "down"] += 1
        if fleet.is_loaded and workers:
            fleet.desired_workers = workers
        elif not fleet.is_loaded or not fleet.is_busy:
            fleet.unload()
            fleet.desired_workers = size.num_at_start


def _affordable(fleet: ModelFleet, size: WorkerRange, max_bytes: int | None) -> WorkerRange:
    """The part of a range that fits the memory of all models."""
    most = size.high
    while max_bytes is not None and most > 1 and fleet.num_bytes_of(most) > max_bytes:
        most -= 1
    return size.within(most)


def load_of(fleet: ModelFleet, now: float) -> FleetLoad:
    """The load of a fleet at this moment."""
    dispatcher = fleet.dispatcher
    workers, backlog, users = dispatcher.workers.local.values(), dispatcher.forecast.backlog, dispatcher.user_jobs
    if workers:
        fleet.num_slots = max(1, *(worker.hello.num_slots for worker in workers))
    slots = fleet.num_slots
    seconds_per_work = dispatcher.forecast.seconds_per_work
    blocks = sum(worker.hello.num_blocks for worker in workers)
    used = sum(worker.hello.num_blocks - max(0, worker.free_blocks) for worker in workers)
    queue_s, first_token_s = fleet.recent.percentiles(now)
    return FleetLoad(
        ready=len(workers),
        slots=slots,
        rate=slots / seconds_per_work if seconds_per_work else None,
        num_waiting=backlog.num_jobs + len(dispatcher.quarantine),
        num_running=users.slot_releases.num_running,
        work=backlog.work + users.slot_releases.work_left,
        num_background_waiting=backlog.num_background,
        background_work=backlog.background_work,
        num_background_running=len(users.background),
        cache_use=used / blocks if blocks else 0.0,
        queue_s=queue_s,
        first_token_s=first_token_s,
    )

"""The workers of all models of a service, in a pool for each model."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from cactus_actors.fleet.start_phases import StartPhase
from cactus_actors.fleet.worker_pool import WorkerPool
from cactus_actors.placement.interface import Actor, ActorExit


class WorkerPools:
    """Pools by the names of their models; the name of the only model is empty."""

    def __init__(self, pools: Mapping[str, WorkerPool]) -> None:
        self._pools = pools
        self._desired = {name: pool.fleet.desired for name, pool in pools.items()}
        self.unloaded: frozenset[str] = frozenset()

    @property
    def actors(self) -> list[Actor]:
        """All launched actors that have not been seen to end."""
        return [actor for pool in self._pools.values() for actor in pool.actors]

    @property
    def loading_actors(self) -> list[Actor]:
        """The launched actors that are not ready."""
        return [actor for pool in self._pools.values() for actor in pool.loading_actors]

    @property
    def loading(self) -> tuple[StartPhase, ...]:
        """The start phases of the workers that are not ready."""
        return tuple(phase for pool in self._pools.values() for phase in pool.loading.values())

    @property
    def desired(self) -> dict[str, int]:
        """The desired number of workers of each model; the `unloaded` ones have none until a job needs them."""
        return dict(self._desired)

    @property
    def num_restarts(self) -> int:
        """The workers that were lost."""
        return sum(pool.fleet.num_restarts for pool in self._pools.values())

    def unreported_exits(self) -> list[ActorExit]:
        """Exits that `reconcile` has not handled yet."""
        return [ended for pool in self._pools.values() for ended in pool.unreported_exits()]

    def want(self, desired: Mapping[str, int], unloaded: Collection[str] = ()) -> None:
        """Set the desired number of workers of each model, and the models that have none until a job needs them."""
        self._desired, self.unloaded = dict(desired), frozenset(unloaded)
        for name, count in desired.items():
            self._pools[name].want(0 if name in unloaded else count)

    def replace_all(self) -> None:
        """Mark every running worker as old."""
        for pool in self._pools.values():
            pool.fleet.replace_all()

    def reconcile(self, now: float, ready: Collection[str]) -> None:
        """Replace failed and hanging workers and follow the plans; `ready` names the workers that take jobs.

        Raises PlacementLost.
        """
        for pool in self._pools.values():
            pool.reconcile(now, ready)

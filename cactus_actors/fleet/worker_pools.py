"""The workers of all models of a service, in a pool for each model."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from cactus_actors.config_models import ModelMemory, PlacedWorkers, nodes_of
from cactus_actors.fleet.fleet import UNLIMITED
from cactus_actors.fleet.start_phases import StartPhase
from cactus_actors.fleet.worker_pool import WorkerPool
from cactus_actors.placement.interface import Actor, ActorExit


class WorkerPools:
    """Pools by the names of their models; the name of the only model is empty."""

    def __init__(self, pools: Mapping[str, WorkerPool]) -> None:
        self._pools = pools
        self._desired = {name: pool.fleet.desired for name, pool in pools.items()}
        self.unloaded: frozenset[str] = frozenset()
        self._memory: Mapping[str, ModelMemory] = {}
        self._max_bytes: int | None = None

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
    def wanted(self) -> dict[str, int]:
        """The number of workers that each model shall have now: none if it is unloaded."""
        return {name: 0 if name in self.unloaded else count for name, count in self._desired.items()}

    @property
    def num_wanted(self) -> int:
        """The number of workers that all models shall have now."""
        return sum(self.wanted.values())

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
        for name, count in self.wanted.items():
            self._pools[name].want(count)

    @property
    def node_ids(self) -> set[str]:
        """The ids of the nodes that launched actors are on, as far as they are known."""
        return {node_id for pool in self._pools.values() for node_id in pool.node_ids}

    def leave(self, ending: Mapping[str, bool]) -> None:
        """Replace the workers of the nodes of these ids on others; True if the node is about to end."""
        for pool in self._pools.values():
            pool.leave(ending)

    def bound(self, memory: Mapping[str, ModelMemory], max_bytes: int | None) -> None:
        """Start only workers whose memory fits `max_bytes` on any node, beside those that run."""
        self._memory, self._max_bytes = memory, max_bytes

    def replace_all(self) -> None:
        """Mark every running worker as old."""
        for pool in self._pools.values():
            pool.fleet.replace_all()

    def reconcile(self, now: float, ready: Sequence[str]) -> None:
        """Replace failed and hanging workers and follow the plans; `ready` names the workers that take jobs.

        Raises PlacementLost.
        """
        for name, pool in self._pools.items():
            pool.reconcile(now, ready, self._num_that_fit(name))

    def _num_that_fit(self, name: str) -> int:
        """The workers of a model for which there is memory."""
        if self._max_bytes is None:
            return UNLIMITED
        models = {each: self._placed(each) for each in self._pools}
        nodes, own = nodes_of(models.values()), models.pop(name)
        left = {node: self._max_bytes - sum(other.bytes_on(node) for other in models.values()) for node in nodes}
        return max(0, min(own.num_that_fit(node, left[node]) for node in nodes))

    def _placed(self, name: str) -> PlacedWorkers:
        pool = self._pools[name]
        return PlacedWorkers(self._memory[name], pool.num_by_node, pool.num_unplaced)

"""A model of the service, with its queue, its workers and its adapters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple, get_args

from cactus_actors.config import RouterSettings
from cactus_actors.config_models import NO_CASCADE, CascadeSettings, PlacedWorkers
from cactus_actors.process.node_id import own_place
from cactus_actors.protocol.errors import CactusError, ModelNotFound, Unavailable
from cactus_actors.protocol.scaling_status import ScalingDirection, ScalingStatus
from cactus_actors.protocol.service_status import ModelState
from cactus_actors.protocol.similar_name import similar_name
from cactus_actors.router.effects import Outbox
from cactus_actors.router.scheduling.dispatcher import Dispatcher
from cactus_actors.router.scheduling.leaving_order import Leaver, leaving_order
from cactus_actors.router.scheduling.queued_loads import QueuedLoads
from cactus_actors.router.scheduling.recent_times import RecentTimes
from cactus_actors.router.state.adapter_registry import MAX_SHOWN, AdapterRegistry
from cactus_actors.router.state.served_model import ServedModel
from cactus_actors.router.state.submission import SubmittedRequest
from cactus_actors.router.state.worker import WorkerRecord
from cactus_actors.router.telemetry.counters import RouterCounters
from cactus_actors.router.telemetry.model_counters import ModelCounters

RETRY_AFTER_S = 60.0
FIRST_SLOTS = 16
"""The slots of a worker, until one has connected."""


class LoadFailure(NamedTuple):
    """The error with which the workers of a model did not start."""

    error: CactusError
    at: float


class ModelFleet:
    """One model, whose queue counts towards `queued`, the load of several.

    `desired_workers` is the request of operators, which counts while it `is_loaded`, or that of its load, for the
    `scaling_reason`, unless it `is_size_fixed` by an operator. Its workers have `num_slots` each, and had `formats` of
    weights and kernels. It `is_loading` from the job that had it loaded until a worker is ready, and has no job since
    `idle_since`. One that `is_called` is loaded for an operator, without a job; `waiting_since` then, it waits for
    memory that busy models hold. `load_failure` is the last one since it had a worker.
    """

    def __init__(
        self,
        served: ServedModel,
        settings: RouterSettings,
        epoch: int,
        outbox: Outbox,
        counters: RouterCounters,
        queued: QueuedLoads | None = None,
    ) -> None:
        self.served = served
        self.dispatcher = Dispatcher(settings, outbox, counters, queued)
        self.adapters = AdapterRegistry(epoch, served.names, served.adapters, served.name)
        self.counters = ModelCounters()
        self.desired_workers = served.desired_workers
        self.is_size_fixed = served.is_size_fixed
        self.scaling_reason = ""
        self.num_scaled: Counter[ScalingDirection] = Counter(dict.fromkeys(get_args(ScalingDirection), 0))
        self.num_slots = FIRST_SLOTS
        self.recent = RecentTimes()
        self.is_on_demand = _is_on_demand(served)
        self.is_loaded = not served.begins_unloaded
        self.is_loading = False
        self.is_called = False
        self.idle_since: float | None = None
        self.waiting_since: float | None = None
        self.load_failure: LoadFailure | None = None
        self.formats: set[str] = set()

    @property
    def name(self) -> str:
        """Its name among several models; empty for the only one."""
        return self.served.name

    @property
    def is_switched_off(self) -> bool:
        """True if it is scaled to 0, and its last worker is gone: its jobs wait for an operator."""
        return not self.desired_workers and not self.dispatcher.workers.local

    @property
    def scaling(self) -> ScalingStatus | None:
        """How its size is decided; None if it has no range."""
        size = self.served.size
        if size is None:
            return None
        return ScalingStatus(
            min_workers=size.low,
            max_workers=size.high,
            is_fixed=self.is_size_fixed,
            reason=self.scaling_reason,
            changes=dict(self.num_scaled),
        )

    @property
    def is_complete(self) -> bool:
        """True if no worker is expected to start or leave."""
        return len(self.dispatcher.workers.local) == self.wanted_workers

    @property
    def wanted_workers(self) -> int:
        """The workers that it shall have now."""
        return self.desired_workers if self.is_loaded else 0

    @property
    def is_busy(self) -> bool:
        """True if a job waits, runs, or is being prepared."""
        dispatcher = self.dispatcher
        if dispatcher.num_waiting or dispatcher.queue.load.num_jobs:
            return True
        return any(worker.assignments for worker in dispatcher.workers if worker.is_local)

    @property
    def is_awaited(self) -> bool:
        """True if no worker takes jobs, and some shall."""
        return self.is_loaded and not self.dispatcher.workers.local

    @property
    def state(self) -> ModelState:
        if self.dispatcher.workers.local:
            return "ready"
        if not self.desired_workers:
            return "off"
        if self.is_loaded:
            return "loading" if self.is_loading else "starting"
        return "idle" if self.waiting_since is None else "waiting"

    def placed(self, num_workers: int) -> PlacedWorkers | None:
        """That many workers, where those that are connected run; None if its memory is not known."""
        if self.served.memory is None:
            return None
        by_node = Counter(worker.hello.node for worker in self.dispatcher.workers.local.values())
        return PlacedWorkers(self.served.memory, by_node, max(0, num_workers - by_node.total()))

    def num_bytes_of(self, num_workers: int) -> int:
        """The memory of its weights and of the caches of that many workers, where that is bounded."""
        memory = self.served.memory
        return 0 if memory is None else memory.of(num_workers)

    def load(self) -> None:
        """Give it its workers."""
        self.is_loaded = self.is_loading = True
        self.is_called, self.waiting_since = False, None

    def on_job_left(self) -> None:
        """Record that a job has left it: it was not idle until now."""
        self.idle_since = None

    def unload(self) -> None:
        """Let its workers leave when they have no job, until a job needs them."""
        self.is_loaded = self.is_loading = False

    def why_unusable(self, now: float) -> CactusError | None:
        """The reason why jobs that could run elsewhere should not wait for its workers; None if they may.

        Its workers did not start, and none has since. A model on demand is tried again after RETRY_AFTER_S.
        """
        if self.is_switched_off:
            return Unavailable("the model is scaled to 0")
        failure = self.load_failure
        if failure is None or (self.is_on_demand and now - failure.at >= RETRY_AFTER_S):
            return None
        return failure.error


class ModelFleets:
    """The fleets of all models, the default one first. Cloud workers are in the worker table of the first."""

    def __init__(self, fleets: Iterable[ModelFleet], cascade: CascadeSettings = NO_CASCADE) -> None:
        self._cascade = cascade
        self._home = own_place()
        self._by_name: dict[str, ModelFleet] = {fleet.name: fleet for fleet in fleets}
        self.first = next(iter(self._by_name.values()))
        self._by_served_name: dict[str, ModelFleet] = {}
        for fleet in self:
            self._by_served_name |= dict.fromkeys(fleet.served.names, fleet)

    def __iter__(self) -> Iterator[ModelFleet]:
        return iter(self._by_name.values())

    def __len__(self) -> int:
        return len(self._by_name)

    @property
    def names(self) -> str:
        """The names that requests may use, without aliases, for messages."""
        return ", ".join([*self._by_name, *([self._cascade.name] if self._cascade.tiers else [])])

    @property
    def cloud(self) -> Dispatcher:
        """The dispatcher of cloud workers."""
        return self.first.dispatcher

    @property
    def workers(self) -> Iterator[WorkerRecord]:
        """The workers of all models."""
        return (worker for fleet in self for worker in fleet.dispatcher.workers)

    @property
    def num_workers(self) -> int:
        return sum(fleet.dispatcher.workers.num_workers for fleet in self)

    @property
    def num_waiting(self) -> int:
        return sum(fleet.dispatcher.num_waiting for fleet in self)

    @property
    def workers_to_keep(self) -> list[str]:
        """The workers that take jobs; of each model, those last that leave first."""
        on_node = Counter(it.place for it in self.workers if it.is_local)
        kept: list[str] = []
        for fleet in self:
            leavers = (
                Leaver(it.worker_id, it.place, len(it.assignments)) for it in fleet.dispatcher.workers.local.values()
            )
            kept += reversed(leaving_order(leavers, on_node, self._home))
        return kept

    @property
    def unloaded(self) -> tuple[str, ...]:
        """The models without workers until a job needs them."""
        return tuple(fleet.name for fleet in self if not fleet.is_loaded)

    @property
    def fixed(self) -> tuple[str, ...]:
        """The models whose number of workers an operator has set in the place of the load."""
        return tuple(fleet.name for fleet in self if fleet.is_size_fixed)

    @property
    def desired_by_model(self) -> dict[str, int]:
        """The desired workers of each model, by its name."""
        return {fleet.name: fleet.desired_workers for fleet in self}

    @property
    def desired_workers(self) -> int:
        """The desired workers of all models."""
        return sum(self.desired_by_model.values())

    def of(self, job: SubmittedRequest) -> ModelFleet:
        """The fleet that runs a job."""
        return self._by_name[job.submission.model]

    def of_worker(self, worker: WorkerRecord) -> ModelFleet:
        """The fleet of a worker's table."""
        return self._by_name.get(worker.hello.served_as, self.first) if worker.is_local else self.first

    def registered(self, served_as: str) -> ModelFleet | None:
        """The fleet that a worker names; a worker that names none belongs to the first."""
        return self._by_name.get(served_as) if served_as else self.first

    def by_identity(self, identity: bytes) -> WorkerRecord | None:
        """The worker of a connection."""
        for fleet in self:
            if (worker := fleet.dispatcher.workers.by_identity(identity)) is not None:
                return worker
        return None

    def by_id(self, worker_id: str) -> WorkerRecord | None:
        """The worker of a name."""
        for fleet in self:
            if (worker := fleet.dispatcher.workers.by_id(worker_id)) is not None:
                return worker
        return None

    def named(self, name: str | None, param: str = "model") -> ModelFleet:
        """The fleet that an operator names, by default the only one; raises ModelNotFound."""
        fleet = self.first if name is None and len(self) == 1 else self._by_served_name.get(name or "")
        if fleet is None:
            wanted = "name a model" if name is None else f"no model {name[:MAX_SHOWN]!r}"
            known = ", ".join(it.served.names[0] for it in self)
            raise ModelNotFound(f"{wanted}; models of this service: {known}", param=param)
        return fleet

    def has(self, name: str) -> bool:
        """True if a model has the name, or the alias."""
        return name in self._by_served_name

    def requested(self, model: str | None) -> ModelFleet:
        """The fleet of a request's `model`: a name, an alias, an adapter of one, or the cascade; raises ModelNotFound.

        A service of one model has it for any name.
        """
        if self._cascade.is_named_by(model):
            return self._by_name[self._cascade.models[0]]
        if model is None or len(self) == 1:
            return self.first
        fleet = self._by_served_name.get(model)
        if fleet is not None:
            return fleet
        for one in self:
            if one.adapters.is_named_by(model):
                return one
        hint = similar_name(model, self._by_served_name)
        raise ModelNotFound(
            f"no model {model[:MAX_SHOWN]!r}; models of this service: {self.names}{hint}", param="model"
        )


def _is_on_demand(served: ServedModel) -> bool:
    """True if it may be without workers until a job needs them."""
    begins_unloaded = served.begins_unloaded or (served.size is not None and served.size.begins_unloaded)
    return served.unload_after_s is not None or begins_unloaded or served.memory is not None

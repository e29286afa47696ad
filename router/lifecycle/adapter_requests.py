"""Loads and unloads adapters for operators, and sends workers the list of adapters that they must have."""

from __future__ import annotations

from dataclasses import dataclass, field

from cactus_actors.protocol.adapter_names import NAME_RULE, is_adapter_name
from cactus_actors.protocol.errors import CactusError, InvalidRequest, Unavailable
from cactus_actors.protocol.messages import AdapterLoaded, AdapterUnloaded, LoadAdapter, UnloadAdapter
from cactus_actors.protocol.wire import Encoding
from cactus_actors.protocol.worker_messages import AdaptersLoaded
from cactus_actors.router.effects import LogWarning
from cactus_actors.router.router_state import RouterState
from cactus_actors.router.scheduling.model_fleet import ModelFleet
from cactus_actors.router.state.worker import WorkerRecord

RETRY_AFTER_S = 1.0


@dataclass
class PendingLoad:
    """A load in progress: jobs may name the adapter when one worker or more has it and none is `waiting`."""

    fleet: ModelFleet
    name: str
    path: str
    key: str
    waiting: set[bytes]  # identities of workers that have not read it yet
    num_loaded: int = 0
    requesters: dict[bytes, tuple[LoadAdapter, Encoding]] = field(default_factory=dict)


class AdapterRequests:
    """Loads and unloads adapters of models: each worker gets the list of its model with its Welcome and on changes."""

    def __init__(self, state: RouterState) -> None:
        self._state = state
        self._fleets = state.fleets
        self._outbox = state.outbox
        self._loads: dict[tuple[str, str], PendingLoad] = {}  # by the names of the model and of the adapter

    def on_welcome(self, identity: bytes, fleet: ModelFleet) -> None:
        """Send the list of adapters to a worker whose session begins; an empty list is not sent.

        It has no adapter during whose load its predecessor ended.
        """
        self._fail_interrupted({identity})
        for load in self._loads.values():
            if load.fleet is fleet:
                load.waiting.add(identity)
        if fleet.adapters.is_used:
            self._outbox.command(identity, fleet.adapters.command)

    def load(self, identity: bytes, request: LoadAdapter, encoding: Encoding) -> None:
        """Let the workers of a model load an adapter; raises InvalidRequest, ModelNotFound, Unavailable."""
        fleet, name, path = self._fleets.named(request.model), request.name, request.path
        registry, workers = fleet.adapters, fleet.dispatcher.workers
        if not is_adapter_name(name):
            raise InvalidRequest(f"{name[:80]!r} is no name of an adapter: {NAME_RULE}", param="name")
        if name in fleet.served.names:
            raise InvalidRequest(f"{name!r} is the name of the model itself", param="name")
        if self._fleets.has(name):
            raise InvalidRequest(f"{name!r} is the name of another model", param="name")
        if self._state.settings.cascade.is_named_by(name):
            raise InvalidRequest(f"{name!r} is the name of the cascade", param="name")
        if not path.startswith("/"):
            raise InvalidRequest("the path of an adapter must be absolute", param="path")
        load = self._loads.get((fleet.name, name))
        known = load.path if load is not None else registry.path_of(name)
        if known is not None and known != path:
            raise InvalidRequest(f"adapter {name!r} has other files; unload it first", param="name")
        if known is not None and load is None:
            reply = AdapterLoaded(name=name, num_workers=len(workers.local), request_id=request.request_id)
            self._outbox.reply(identity, reply, encoding)
            return
        if load is None:
            if not workers.local:
                raise Unavailable("no worker is connected that could read the adapter", retry_after=RETRY_AFTER_S)
            waiting = {worker.identity for worker in workers.local.values()}
            load = PendingLoad(fleet, name, path, registry.prepare(path), waiting)
            self._loads[fleet.name, name] = load
            self._send_to_workers(fleet)
        load.requesters[identity] = request, encoding

    def unload(self, identity: bytes, request: UnloadAdapter, encoding: Encoding) -> None:
        """Remove an adapter: later jobs cannot name it; raises ModelNotFound."""
        self._fleets.named(request.model).adapters.remove(request.name)
        self._outbox.reply(identity, AdapterUnloaded(name=request.name, request_id=request.request_id), encoding)

    def on_loaded(self, worker: WorkerRecord, message: AdaptersLoaded) -> None:
        """Handle a worker's report about the adapters of its list: loaded, or failed."""
        fleet = self._fleets.of_worker(worker)
        for load in list(self._loads.values()):
            if load.fleet is not fleet or load.key not in message.keys:
                continue
            if load.key in message.failures:
                self._fail(load, InvalidRequest(message.failures[load.key], param="path"))
            elif worker.identity in load.waiting:
                load.waiting.discard(worker.identity)
                load.num_loaded += 1
                self._end_if_read(load)
        for name, reason in fleet.adapters.named(message.failures).items():
            self._outbox.add(LogWarning(f"worker {worker.worker_id} has no adapter {name}: {reason}"))

    def on_goodbye(self, worker: WorkerRecord) -> None:
        """Stop waiting for a worker that leaves in order."""
        for load in list(self._loads.values()):
            load.waiting.discard(worker.identity)
            self._end_if_read(load)

    def on_tick(self) -> None:
        """Drop adapters during whose load a worker was lost, and forget removed ones that no job has."""
        self._fail_interrupted(set())
        for fleet in self._fleets:
            if fleet.adapters.has_removed and fleet.adapters.forget(self._keys_in_use(fleet)):
                self._send_to_workers(fleet)

    def _fail_interrupted(self, starting: set[bytes]) -> None:
        """Drop adapters during whose load a worker was lost: its successor could be lost in the same way."""
        for load in list(self._loads.values()):
            present = {worker.identity for worker in load.fleet.dispatcher.workers.local.values()}
            if load.waiting - present - starting:
                self._fail(load, Unavailable("a worker ended or hung while it loaded the adapter"))

    def _end_if_read(self, load: PendingLoad) -> None:
        if load.waiting:
            return
        if not load.num_loaded:
            self._fail(load, Unavailable("every worker left before it had read the adapter"))
            return
        del self._loads[load.fleet.name, load.name]
        load.fleet.adapters.publish(load.name, load.key)
        for identity, (request, encoding) in load.requesters.items():
            reply = AdapterLoaded(name=load.name, num_workers=load.num_loaded, request_id=request.request_id)
            self._outbox.reply(identity, reply, encoding)

    def _fail(self, load: PendingLoad, error: CactusError) -> None:
        del self._loads[load.fleet.name, load.name]
        load.fleet.adapters.discard(load.key)
        self._send_to_workers(load.fleet)
        for identity, (request, encoding) in load.requesters.items():
            self._state.counters.rejected[error.type] += 1
            self._outbox.reject(identity, error, encoding, request_id=request.request_id)

    def _send_to_workers(self, fleet: ModelFleet) -> None:
        for worker in fleet.dispatcher.workers:
            if worker.is_local:
                self._outbox.command(worker.identity, fleet.adapters.command)

    def _keys_in_use(self, fleet: ModelFleet) -> list[str]:
        jobs = (*self._state.pending.values(), *self._state.jobs.live.values())
        return [job.submission.adapter for job in jobs if job.submission.model == fleet.name]

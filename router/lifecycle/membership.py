"""Handles the messages of workers: starts their sessions, or refuses workers that would give other tokens."""

from __future__ import annotations

from collections.abc import Iterator

from cactus_actors.protocol.worker_messages import (
    Abort,
    AdaptersLoaded,
    BatchReply,
    Draining,
    Goodbye,
    Hello,
    Refused,
    Report,
    Welcome,
    WorkerMessage,
)
from cactus_actors.router.effects import LogWarning
from cactus_actors.router.lifecycle.adapter_requests import AdapterRequests
from cactus_actors.router.lifecycle.cloud_batch_requests import CloudBatchRequests
from cactus_actors.router.lifecycle.worker_reports import WorkerReports
from cactus_actors.router.router_state import RouterState
from cactus_actors.router.scheduling.model_fleet import ModelFleet
from cactus_actors.router.state.worker import WorkerRecord, WorkerRefusal

EQUAL_ON_ALL_KERNELS = frozenset({"int8"})
"""Formats of weights whose tokens are bit-equal on every instruction set."""

MAX_REFUSALS = 64
REFUSAL_SHOWN_S = 600.0
REFUSAL_INTERVAL_S = 1.0
"""A worker that repeats its Hello sooner gets no second refusal: it may not understand refusals."""
MAX_UNACKNOWLEDGED, MIN_AHEAD = 128, 2
"""The most unacknowledged reports of all workers together, and the least that each worker may have: a router that
does not keep up slows its workers down instead of queueing their tokens."""


class Membership:
    """Admits workers that run a model of the service in its formats; any message shows that its worker is alive.

    The first local worker of a model decides the formats that the settings leave open.
    """

    def __init__(
        self,
        state: RouterState,
        worker_reports: WorkerReports,
        adapters: AdapterRequests,
        cloud_batches: CloudBatchRequests,
    ) -> None:
        self._facts = state.facts
        self._counters = state.counters
        self._outbox = state.outbox
        self._fleets = state.fleets
        self._refused = state.options.refused
        self._refusals = state.refused_workers
        self._worker_reports = worker_reports
        self._adapters = adapters
        self._cloud_batches = cloud_batches

    def handle(self, identity: bytes, message: WorkerMessage, now: float) -> None:
        """Handle one message of a worker."""
        worker = self._fleets.by_identity(identity)
        if isinstance(message, Hello):
            self._on_hello(identity, message, now)
        elif worker is None:
            # Its session has ended, or was with an earlier router: a Welcome makes it send Hello.
            if isinstance(message, Report):
                self._counters.on_late(message.deltas)
            if not isinstance(message, Goodbye):
                self._outbox.command(identity, Welcome(self._facts.epoch))
        elif isinstance(message, Report):
            self._worker_reports.on_report(worker, message, now)
        else:
            worker.link.mark_alive(now)
            if isinstance(message, AdaptersLoaded):
                self._adapters.on_loaded(worker, message)
            elif isinstance(message, BatchReply):
                self._cloud_batches.on_reply(message)
            elif isinstance(message, Draining):
                self._fleets.of_worker(worker).dispatcher.workers.drain(worker)
            elif isinstance(message, Goodbye):
                self._adapters.on_goodbye(worker)
                self._worker_reports.on_worker_gone(worker, None, now)

    def grant_credit(self, identities: set[bytes]) -> None:
        """Acknowledge the reports of these workers, which may then send more."""
        max_ahead = max(MIN_AHEAD, MAX_UNACKNOWLEDGED // max(1, self._fleets.num_workers))
        for worker in map(self._fleets.by_identity, identities):
            if worker is not None and (credit := worker.link.credit(min(max_ahead, worker.hello.max_reports_ahead))):
                self._outbox.command(worker.identity, credit)

    def _on_hello(self, identity: bytes, hello: Hello, now: float) -> None:
        """Start or refuse a session; end older sessions of the same name or connection."""
        older: list[WorkerRecord] = []
        for worker in (self._fleets.by_id(hello.worker_id), self._fleets.by_identity(identity)):
            if worker is not None and worker not in older:
                older.append(worker)
        fleet = self._fleets.registered(hello.served_as) if hello.kind == "local" else self._fleets.first
        differences = list(self._differences(hello, fleet)) if hello.kind == "local" else []
        if differences or fleet is None:
            self._refuse(identity, hello, differences, now)
        else:
            self._refusals.pop(hello.worker_id, None)
            self._outbox.command(identity, Welcome(self._facts.epoch))
        for worker in older:
            for dispatch_id in worker.assignments:
                self._outbox.command(identity, Abort(dispatch_id))
            is_alive = (worker.worker_id, worker.hello.pid) == (hello.worker_id, hello.pid)
            self._worker_reports.on_worker_gone(worker, "reconnected" if is_alive else "died", now)
        if fleet is not None and not differences:
            if hello.kind == "local":
                self._adapters.on_welcome(identity, fleet)
                if hello.weights:
                    fleet.formats.add(f"{hello.weights}-{hello.kernels}")
            fleet.dispatcher.workers.add(identity, hello, now)

    def on_tick(self, now: float) -> None:
        """Forget refusals that are old, or too many."""
        while self._refusals:
            worker_id, refusal = next(iter(self._refusals.items()))
            if now - refusal.at < REFUSAL_SHOWN_S and len(self._refusals) <= MAX_REFUSALS:
                return
            del self._refusals[worker_id]

    def _refuse(self, identity: bytes, hello: Hello, differences: list[tuple[str, str]], now: float) -> None:
        last = self._refusals.pop(hello.worker_id, None)
        reason = "; ".join(difference for _, difference in differences)
        if last is not None and now - last.at < REFUSAL_INTERVAL_S:
            self._refusals[hello.worker_id] = last
            return
        self._refusals[hello.worker_id] = WorkerRefusal(reason, now)
        self._refused["foreign_worker"] += 1
        self._outbox.command(identity, Refused(differences[0][0], reason))
        self._outbox.add(LogWarning(f"worker {hello.worker_id} on {hello.node} gets no jobs: {reason}"))

    def _differences(self, hello: Hello, fleet: ModelFleet | None) -> Iterator[tuple[str, str]]:
        """The fields in which a worker differs from the others of its model, each with a description."""
        if fleet is None:
            yield "served_as", f"it serves {hello.served_as}, the service has {self._fleets.names}"
            return
        served, first = fleet.served, _first_other(fleet, hello)
        own = None if first is None else first.hello
        expected = served.fingerprint or (own.fingerprint if own else "")
        if expected and hello.fingerprint != expected:
            name = served.name or served.own_name or (own.model if own else "")
            has = f"the fingerprint {hello.fingerprint}" if hello.fingerprint else "no fingerprint"
            yield "model", f"its model {hello.model} has {has}, the service's {name} has {expected}"
        elif not expected and own and hello.model != own.model:
            yield "model", f"its model is {hello.model}, the service's {own.model}"
        for field, what in (("weights", "weights"), ("kv_cache", "keys and values")):
            value = getattr(served, field) or (getattr(own, field) if own else "")
            if value and getattr(hello, field) != value:
                yield field, f"its {what} are in {getattr(hello, field) or 'no known format'}, not in {value}"
        if own and own.block_size != hello.block_size:
            yield "block_size", f"its blocks hold {hello.block_size} tokens, the service's {own.block_size}"
        if own and own.kernels != hello.kernels and hello.weights not in EQUAL_ON_ALL_KERNELS:
            yield (
                "kernels",
                f"its kernels are {hello.kernels}, the service's {own.kernels}, and with weights in "
                f"{hello.weights or 'an unknown format'} these give other tokens",
            )


def _first_other(fleet: ModelFleet, hello: Hello) -> WorkerRecord | None:
    """The oldest local worker of the model with another name than this one."""
    for worker in fleet.dispatcher.workers:
        if worker.is_local and worker.worker_id != hello.worker_id:
            return worker
    return None

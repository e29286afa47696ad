"""Which workers serve: those whose tokens are the service's. A Hello in, a Welcome or a refusal out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cactus_actors.protocol.worker_messages import Abort, Hello, Refused, Welcome
from cactus_actors.router.lifecycle.worker_reports import WorkerReports
from cactus_actors.router.router_state import RouterState
from cactus_actors.router.state.worker import WorkerRecord, WorkerRefusal

EQUAL_ON_ALL_KERNELS = frozenset({"int8"})
"""Formats of weights whose tokens are equal to the bit whatever instruction set computes them."""

MAX_REFUSALS = 64
REFUSAL_SHOWN_S = 600.0
TELL_INTERVAL_S = 1.0
"""Who says Hello again sooner is not told again: it may not understand."""


@dataclass(frozen=True, kw_only=True)
class ServiceModel:
    """What the workers of a service have in common; what is empty here is as its first worker has it.

    `fingerprint` is that of the model's files, `weights` and `kv_cache` are formats.
    """

    name: str = ""
    fingerprint: str = ""
    weights: str = ""
    kv_cache: str = ""


class Membership:
    """Starts the sessions of workers, or refuses them."""

    def __init__(self, state: RouterState, worker_reports: WorkerReports) -> None:
        facts, settings = state.facts, state.settings
        self._service = ServiceModel(
            name=facts.model,
            fingerprint=facts.fingerprint,
            weights=settings.weights or "",
            kv_cache=settings.kv_cache or "",
        )
        self._epoch = facts.epoch
        self._outbox = state.outbox
        self._workers = state.dispatcher.workers
        self._refused = state.options.refused
        self._refusals = state.refused_workers
        self._worker_reports = worker_reports

    def on_hello(self, identity: bytes, hello: Hello, now: float) -> None:
        """Start a session, or refuse it; what an older one of the same name or connection held is void."""
        older: list[WorkerRecord] = []
        for worker in (self._workers.by_id(hello.worker_id), self._workers.by_identity(identity)):
            if worker is not None and worker not in older:
                older.append(worker)
        differences = list(self._differences(hello)) if hello.kind == "local" else []
        if differences:
            self._refuse(identity, hello, differences, now)
        else:
            self._refusals.pop(hello.worker_id, None)
            self._outbox.command(identity, Welcome(self._epoch))
        for worker in older:
            for dispatch_id in worker.assignments:
                self._outbox.command(identity, Abort(dispatch_id))
            is_alive = (worker.worker_id, worker.hello.pid) == (hello.worker_id, hello.pid)
            self._worker_reports.on_worker_gone(worker, "reconnected" if is_alive else "died", now)
        if not differences:
            self._workers.add(identity, hello, now)

    def on_tick(self, now: float) -> None:
        """Old refusals are shown no more."""
        while self._refusals:
            worker_id, refusal = next(iter(self._refusals.items()))
            if now - refusal.at < REFUSAL_SHOWN_S and len(self._refusals) <= MAX_REFUSALS:
                return
            del self._refusals[worker_id]

    def _refuse(self, identity: bytes, hello: Hello, differences: list[tuple[str, str]], now: float) -> None:
        last = self._refusals.pop(hello.worker_id, None)
        reason = "; ".join(difference for _, difference in differences)
        if last is not None and now - last.at < TELL_INTERVAL_S:
            self._refusals[hello.worker_id] = last
            return
        self._refusals[hello.worker_id] = WorkerRefusal(reason, now)
        self._refused["foreign_worker"] += 1
        self._outbox.command(identity, Refused(differences[0][0], reason))
        self._outbox.warn(f"worker {hello.worker_id} on {hello.node} gets no jobs: {reason}")

    def _differences(self, hello: Hello) -> Iterator[tuple[str, str]]:
        """The fields in which a worker differs from the service, each with what is wrong."""
        service, first = self._service, self._first_other(hello)
        own = None if first is None else first.hello
        expected = service.fingerprint or (own.fingerprint if own else "")
        if expected and hello.fingerprint != expected:
            name = service.name or (own.model if own else "")
            has = f"the fingerprint {hello.fingerprint}" if hello.fingerprint else "no fingerprint"
            yield "model", f"its model {hello.model} has {has}, the service's {name} has {expected}"
        elif not expected and own and hello.model != own.model:
            yield "model", f"its model is {hello.model}, the service's {own.model}"
        for field, what in (("weights", "weights"), ("kv_cache", "keys and values")):
            value = getattr(service, field) or (getattr(own, field) if own else "")
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

    def _first_other(self, hello: Hello) -> WorkerRecord | None:
        """The local worker that serves for longest, beside the one that says Hello."""
        for worker in self._workers:
            if worker.is_local and worker.worker_id != hello.worker_id:
                return worker
        return None

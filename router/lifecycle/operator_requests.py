"""Answers requests about the whole service: status, scaling, restart of the workers."""

from __future__ import annotations

import msgspec

from cactus_actors.config_models import excess_bytes
from cactus_actors.config_scaling import MAX_WORKERS
from cactus_actors.protocol.errors import InvalidRequest, Overloaded, PermissionDenied
from cactus_actors.protocol.messages import DrainNode, Restart, Restarting, Scale, Scaling, Status, StatusRequest
from cactus_actors.protocol.service_status import AdapterStatus, ModelStatus
from cactus_actors.protocol.totals import Held
from cactus_actors.router.router_state import RouterState
from cactus_actors.router.scheduling.model_fleet import ModelFleet
from cactus_actors.router.scheduling.tenant_loads import tenant_loads
from cactus_actors.router.state.caller import Caller

MAX_DRAIN_S = 30 * 24 * 3600.0


class OperatorRequests:
    """Reads the router's state, and records the requests of operators, which the fleet carries out."""

    def __init__(self, state: RouterState) -> None:
        self._state = state

    def answer(
        self, request: StatusRequest | Scale | Restart | DrainNode, caller: Caller, now: float
    ) -> Status | Scaling | Restarting:
        """The answer to a request; raises PermissionDenied, InvalidRequest, ModelNotFound, Overloaded."""
        if isinstance(request, StatusRequest):
            status = self.status(request, now)
            return status if caller.role == "operator" else _without_tenants(status)
        self.check(caller)
        if isinstance(request, DrainNode):
            return self._drain_node(request, now)
        if isinstance(request, Restart):
            self._state.num_restarts_requested += 1
            num_workers = sum(fleet.wanted_workers for fleet in self._state.fleets)
            return Restarting(num_workers=num_workers, request_id=request.request_id)
        return self._scale(request)

    def _drain_node(self, request: DrainNode, now: float) -> Restarting:
        nodes, seconds, num_workers = self._state.leaving_nodes, request.within_s, 0
        if seconds is not None and not 0 <= seconds <= MAX_DRAIN_S:
            raise InvalidRequest(f"within_s must be between 0 and {MAX_DRAIN_S:g}", param="within_s")
        if request.keep:
            nodes.keep(request.node)
        else:
            num_workers = nodes.leave(request.node, None if seconds is None else now + seconds)
        return Restarting(num_workers=num_workers, request_id=request.request_id)

    def _scale(self, request: Scale) -> Scaling:
        fleet = self._state.fleets.named(request.model)
        if request.num_workers == "auto":
            if fleet.served.size is None:
                raise InvalidRequest(
                    "the number of workers is no range that the load could ask for; start the service with --workers "
                    "LEAST:MOST",
                    param="num_workers",
                )
            fleet.is_size_fixed, fleet.desired_workers = False, max(1, fleet.desired_workers)
            return Scaling(num_workers=fleet.desired_workers, request_id=request.request_id)
        if not 0 <= request.num_workers <= MAX_WORKERS:
            raise InvalidRequest(f"num_workers must be between 0 and {MAX_WORKERS}", param="num_workers")
        num_bytes, max_bytes = fleet.num_bytes_of(request.num_workers), self._state.settings.max_model_bytes
        if max_bytes is not None and num_bytes > max_bytes:
            raise InvalidRequest(
                f"max_model_bytes is {max_bytes}, and {request.num_workers} workers of {fleet.name} take {num_bytes}",
                param="num_workers",
            )
        if max_bytes is not None and fleet.is_loaded and request.num_workers > fleet.desired_workers:
            busy = [
                it.placed(it.wanted_workers) for it in self._state.fleets if it is not fleet and it.idle_since is None
            ]
            placed = [it for it in (fleet.placed(request.num_workers), *busy) if it is not None]
            if excess_bytes(placed, max_bytes):
                raise Overloaded(
                    f"max_model_bytes is {max_bytes}: {request.num_workers} workers of {fleet.name} do not fit beside "
                    "the models that are busy",
                    param="num_workers",
                    retry_after=1.0,
                )
        fleet.desired_workers, fleet.is_called = request.num_workers, not fleet.is_loaded
        fleet.is_size_fixed = fleet.served.size is not None
        fleet.idle_since = None  # others make room for it
        return Scaling(num_workers=request.num_workers, request_id=request.request_id)

    def check(self, caller: Caller) -> None:
        """Raise PermissionDenied unless the caller is an operator."""
        if caller.role != "operator":
            self._state.options.refused["wrong_role"] += 1
            raise PermissionDenied(
                "only an operator's key may scale the service, restart workers or load adapters"
                "; make one: cactus keys new NAME --role operator"
            )

    def status(self, request: StatusRequest, now: float) -> Status:
        """The state of the service at this moment."""
        state, facts = self._state, self._state.facts
        fleets, first = state.fleets, state.fleets.first.served
        models = [_model_status(fleet, with_totals=request.with_totals) for fleet in fleets] if len(fleets) > 1 else []
        return Status(
            request_id=request.request_id,
            version=facts.version,
            epoch=facts.epoch,
            uptime_s=round(now - facts.started_at, 3),
            model=first.name or first.own_name,
            max_context=first.max_context,
            vocab_size=first.vocab_size,
            has_chat_template=first.has_chat_template,
            fingerprint=first.fingerprint,
            draining=state.is_draining,
            desired_workers=fleets.desired_workers,
            jobs=state.jobs.counts(fleets.num_waiting),
            workers=[worker.status(now) for worker in fleets.workers],
            refused=dict(state.options.refused),
            refused_workers={name: refusal.reason for name, refusal in state.refused_workers.items()},
            storage_error=state.storage_error,
            held=self._held(now, with_totals=request.with_totals),
            totals=state.counters.totals([it.counters.totals() for it in fleets]) if request.with_totals else None,
            adapters=[
                AdapterStatus(name=name, path=path, model=fleet.name)
                for fleet in fleets
                for name, path in fleet.adapters.paths.items()
            ],
            models=models,
            model_state=fleets.first.state,
            scaling=fleets.first.scaling,
            leaving_nodes=state.leaving_nodes.statuses(now),
        )

    def _held(self, now: float, *, with_totals: bool) -> Held:
        state, fleets = self._state, self._state.fleets
        loads = [fleet.dispatcher.queue.load for fleet in fleets]
        oldest_at = min((job.submission.arrived_at for it in fleets for job in it.dispatcher.queue), default=now)
        return Held(
            arrivals=len(state.pending),
            live_jobs=len(state.jobs.live),
            dispatches=sum(it.dispatcher.workers.num_dispatches for it in fleets),
            topics=len(state.topics),
            waiting_tokens=sum(load.num_tokens for load in loads),
            waiting_bytes=sum(load.num_bytes for load in loads),
            ended_jobs=len(state.jobs.ended),
            result_bytes=state.results.num_bytes,
            oldest_waiting_s=round(now - oldest_at, 3),
            picture_bytes=state.kept_pictures.num_bytes,
            tenants=tenant_loads(fleets) if with_totals else [],
        )


def _model_status(fleet: ModelFleet, *, with_totals: bool) -> ModelStatus:
    served, workers = fleet.served, fleet.dispatcher.workers
    return ModelStatus(
        name=fleet.name,
        aliases=list(served.aliases),
        max_context=served.max_context,
        vocab_size=served.vocab_size,
        fingerprint=served.fingerprint,
        has_chat_template=served.has_chat_template,
        desired_workers=fleet.desired_workers,
        state=fleet.state,
        scaling=fleet.scaling,
        waiting=fleet.dispatcher.num_waiting,
        running=sum(len(worker.assignments) for worker in workers if worker.is_local),
        handed_on=fleet.counters.num_handed_on,
        totals=fleet.counters.totals() if with_totals else None,
        formats=sorted(fleet.formats) or list(filter(None, [served.weights])),
    )


def _without_tenants(status: Status) -> Status:
    """The status without the loads and spending of tenants and the paths of adapters, which only operators see."""
    workers = [
        msgspec.structs.replace(worker, spent=[row for row in worker.spent if row.tenant is None])
        if worker.spent
        else worker
        for worker in status.workers
    ]
    adapters = [msgspec.structs.replace(adapter, path="") for adapter in status.adapters]
    held = msgspec.structs.replace(status.held, tenants=[])
    return msgspec.structs.replace(status, workers=workers, adapters=adapters, held=held)

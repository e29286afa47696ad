"""Answers requests about the whole service: status, scaling, restart of the workers."""

from __future__ import annotations

import msgspec

from cactus_actors.protocol.errors import InvalidRequest, PermissionDenied
from cactus_actors.protocol.messages import Restart, Restarting, Scale, Scaling, Status, StatusRequest
from cactus_actors.protocol.totals import Held
from cactus_actors.router.router_state import RouterState
from cactus_actors.router.state.caller import Caller

MAX_WORKERS = 256


class OperatorRequests:
    """Reads the router's state, and records the requests of operators, which the fleet carries out."""

    def __init__(self, state: RouterState) -> None:
        self._state = state

    def answer(
        self, request: StatusRequest | Scale | Restart, caller: Caller, now: float
    ) -> Status | Scaling | Restarting:
        """The answer to a request; raises PermissionDenied, InvalidRequest."""
        if isinstance(request, StatusRequest):
            status = self.status(request, now)
            return status if caller.role == "operator" else _without_tenants(status)
        self.check(caller)
        if isinstance(request, Restart):
            self._state.num_restarts_requested += 1
            return Restarting(num_workers=self._state.desired_workers, request_id=request.request_id)
        if not 0 <= request.num_workers <= MAX_WORKERS:
            raise InvalidRequest(f"num_workers must be between 0 and {MAX_WORKERS}", param="num_workers")
        self._state.desired_workers = request.num_workers
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
        return Status(
            request_id=request.request_id,
            version=facts.version,
            epoch=facts.epoch,
            uptime_s=round(now - facts.started_at, 3),
            model=facts.model,
            max_context=facts.max_context,
            vocab_size=facts.vocab_size,
            has_chat_template=facts.has_chat_template,
            fingerprint=facts.fingerprint,
            draining=state.is_draining,
            desired_workers=state.desired_workers,
            jobs=state.jobs.counts(state.dispatcher.num_waiting),
            workers=[worker.status(now) for worker in state.dispatcher.workers],
            refused=dict(state.options.refused),
            refused_workers={name: refusal.reason for name, refusal in state.refused_workers.items()},
            storage_error=state.storage_error,
            held=self._held(now),
            totals=state.counters.totals() if request.with_totals else None,
            adapters=state.adapters.statuses,
        )

    def _held(self, now: float) -> Held:
        state, queue = self._state, self._state.dispatcher.queue
        waiting = queue.load
        oldest_at = min((job.submission.arrived_at for job in queue), default=now)
        return Held(
            arrivals=len(state.pending),
            live_jobs=len(state.jobs.live),
            dispatches=state.dispatcher.workers.num_dispatches,
            topics=len(state.topics),
            waiting_tokens=waiting.num_tokens,
            waiting_bytes=waiting.num_bytes,
            ended_jobs=len(state.jobs.ended),
            result_bytes=state.results.num_bytes,
            oldest_waiting_s=round(now - oldest_at, 3),
            picture_bytes=state.kept_pictures.num_bytes,
        )


def _without_tenants(status: Status) -> Status:
    """The status without the spending of tenants and the paths of adapters, which only operators may see."""
    workers = [
        msgspec.structs.replace(worker, spent=[row for row in worker.spent if row.tenant is None])
        if worker.spent
        else worker
        for worker in status.workers
    ]
    adapters = [msgspec.structs.replace(adapter, path="") for adapter in status.adapters]
    return msgspec.structs.replace(status, workers=workers, adapters=adapters)

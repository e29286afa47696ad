"""The service as events for its page: an hour of samples, then each new one with the state of all workers.

`/metrics` has the same numbers for programs. Who owns waiting jobs, and whose requests failed, only operators see.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import msgspec
from litestar import get

from cactus_actors.gateway.answers.streaming_response import EventStreamResponse, StreamFormat
from cactus_actors.gateway.context import GatewayContext, gateway_of, is_operator
from cactus_actors.gateway.http.api_keys import account_of
from cactus_actors.gateway.http.request_body import HttpRequest
from cactus_actors.gateway.service_history import FIELDS, ServiceHistory
from cactus_actors.protocol.errors import ResourceNotFound
from cactus_actors.protocol.messages import Status
from cactus_actors.protocol.service_status import WorkerStatus
from cactus_actors.protocol.totals import AuditCounts

WORKER_FIELDS = (
    *("worker_id", "kind", "node", "model", "state", "unavailable", "num_running", "num_slots", "free_slots"),
    *("num_blocks", "free_blocks", "tokens_generated", "ram_usage_mb", "last_seen_s", "threads", "kernels", "weights"),
    *("breaker",),
)
_FORM = StreamFormat()


@get("/page/service")
async def service_events(request: HttpRequest) -> EventStreamResponse:
    """The last hour, and what follows."""
    gateway = gateway_of(request)
    history = gateway.history
    if history is None:
        raise ResourceNotFound("the page is switched off; `cactus serve --page on` switches it on")
    return EventStreamResponse(_frames(gateway, history, request), _FORM.media_type)


async def _frames(gateway: GatewayContext, history: ServiceHistory, request: HttpRequest) -> AsyncIterator[bytes]:
    samples: list[list[float]] = history.samples
    while not gateway.is_draining:  # an open page does not delay the end of the service
        yield _FORM.event({"fields": FIELDS, "samples": samples, "state": _state(gateway, history, request)})
        await _next_sample(gateway, history)
        samples = history.samples[-1:]


async def _next_sample(gateway: GatewayContext, history: ServiceHistory) -> None:
    """Return after the next sample, or when the gateway stops."""
    waiting = asyncio.ensure_future(history.next())
    try:
        await asyncio.wait((waiting, gateway.stopped), return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()


def _state(gateway: GatewayContext, history: ServiceHistory, request: HttpRequest) -> dict[str, Any]:
    """The newest state; without `workers` if the service does not answer."""
    tenant: bytes = request.scope["state"]["tenant"]
    may_operate = is_operator(request)
    status = history.newest
    state: dict[str, Any] = {
        "is_operator": may_operate,
        "errors": gateway.errors.shown_to(tenant, is_operator=may_operate),
        "decisions": [decision._asdict() for decision in history.decisions],
    }
    if status is None:
        return state
    state |= {
        "version": status.version,
        "model": gateway.settings.alias or status.model_names,
        "uptime_s": status.uptime_s,
        "is_draining": status.draining,
        "desired_workers": status.desired_workers,
        "models": [
            {"name": it.name, "state": it.state, "desired_workers": it.desired_workers, "waiting": it.waiting}
            for it in status.models
        ],
        "leaving_nodes": status.leaving_nodes,
        "jobs": status.jobs,
        "oldest_waiting_s": status.held.oldest_waiting_s,
        "workers": [_worker(worker) for worker in status.workers],
        "scaling": status.scaling,
        "first_token_seconds": None if status.totals is None else status.totals.first_token_seconds,
        "audits": _audits(status),
    }
    if may_operate:
        own = account_of(tenant) if tenant else None
        state["tenants"] = [msgspec.structs.asdict(load) | {"is_own": load.name == own} for load in status.held.tenants]
    return state


def _worker(worker: WorkerStatus) -> dict[str, Any]:
    return {name: getattr(worker, name) for name in WORKER_FIELDS}


def _audits(status: Status) -> list[dict[str, Any]]:
    """The state of audits, by handoff actor and tier."""
    found: list[tuple[str, AuditCounts]] = []
    for worker in status.workers:
        if worker.audits is not None:
            found += worker.audits.by_tier.items()
    names = ("outcomes", "unjudged", "monitored", "monitored_wrong", "evidence", "has_drifted", "step", "min_threshold")
    return [{"tier": tier} | {name: getattr(counts, name) for name in names} for tier, counts in found]


HANDLERS = [service_events]

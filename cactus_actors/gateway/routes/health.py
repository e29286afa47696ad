"""/health, /healthz, /readyz and /metrics."""

from __future__ import annotations

import msgspec
from litestar import get
from litestar.response.base import ASGIResponse

from cactus_actors.gateway.answers.job_responses import json_response
from cactus_actors.gateway.context import gateway_of
from cactus_actors.gateway.http.request_body import HttpRequest
from cactus_actors.gateway.metrics.gateway_metrics import CONTENT_TYPE


@get(["/health", "/readyz"])
async def health(request: HttpRequest) -> ASGIResponse:
    """200 if requests are answered, 503 while the model loads and while the service stops.

    Load balancers use the second path.
    """
    await gateway_of(request).check_ready()
    return json_response({"status": "ok"})


@get("/healthz")
async def healthz() -> ASGIResponse:
    """200 as long as this process answers."""
    return json_response({"status": "ok"})


@get("/metrics")
async def metrics(request: HttpRequest) -> ASGIResponse:
    """Counters of the service and of the gateway, as Prometheus reads them."""
    gateway = gateway_of(request)
    status = await gateway.status.with_totals()
    if status is not None and gateway.settings.alias is not None:
        status = msgspec.structs.replace(status, model=gateway.settings.alias)
    text = gateway.metrics.exposition(status)
    return ASGIResponse(body=text, media_type=CONTENT_TYPE)


HANDLERS = [health, healthz, metrics]

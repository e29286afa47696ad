"""/v1/batches: prompt files run at background priority."""

from __future__ import annotations

import msgspec
from litestar import get, post
from litestar.params import FromPath
from litestar.response.base import ASGIResponse

from cactus_actors.api.conversion import typed
from cactus_actors.gateway.answers.job_responses import json_response
from cactus_actors.gateway.context import gateway_of
from cactus_actors.gateway.files.batch_record import Endpoint
from cactus_actors.gateway.files.metadata import check_metadata
from cactus_actors.gateway.http.identity import tenant_name
from cactus_actors.gateway.http.pagination import page
from cactus_actors.gateway.http.request_body import HttpRequest, read_json
from cactus_actors.protocol.errors import InvalidRequest

WINDOW = "24h"


class BatchBody(msgspec.Struct, frozen=True, kw_only=True):
    """Every line of the input file goes to `endpoint`; the only `completion_window` is 24h."""

    input_file_id: str
    endpoint: Endpoint
    completion_window: str = WINDOW
    metadata: dict[str, str] | None = None


@post("/v1/batches", status_code=200)
async def create_batch(request: HttpRequest) -> ASGIResponse:
    """Run an uploaded prompt file."""
    gateway = gateway_of(request)
    body = await read_json(request, gateway.settings.max_body_bytes, lambda body: typed(body, BatchBody))
    if body.completion_window != WINDOW:
        raise InvalidRequest(f"completion_window must be {WINDOW!r}", param="completion_window")
    check_metadata(body.metadata)
    record = gateway.batches.create(body.endpoint, body.input_file_id, tenant_name(request), body.metadata)
    return json_response(record.body())


@get("/v1/batches")
async def list_batches(request: HttpRequest) -> ASGIResponse:
    """All batches, newest first."""
    records = gateway_of(request).batches.all_of(tenant_name(request))
    return json_response(page(request, [record.body() for record in records if not record.owns_files]))


@get("/v1/batches/{batch_id:str}")
async def get_batch(request: HttpRequest, batch_id: FromPath[str]) -> ASGIResponse:
    """State and counts of a batch."""
    return json_response(gateway_of(request).batches.get(batch_id, tenant_name(request)).body())


@post("/v1/batches/{batch_id:str}/cancel", status_code=200)
async def cancel_batch(request: HttpRequest, batch_id: FromPath[str]) -> ASGIResponse:
    """Stop a batch; the finished lines are in its files."""
    return json_response(gateway_of(request).batches.cancel(batch_id, tenant_name(request)).body())


HANDLERS = [create_batch, list_batches, get_batch, cancel_batch]

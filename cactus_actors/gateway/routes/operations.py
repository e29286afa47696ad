"""/v1/service: scaling, restarts and drains, for operators; `cactus scale`, `restart` and `drain` over HTTP."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from litestar import post
from litestar.response.base import ASGIResponse

from cactus_actors.api.conversion import typed
from cactus_actors.config_scaling import MAX_WORKERS
from cactus_actors.gateway.answers.job_responses import json_response
from cactus_actors.gateway.context import operators_gateway_of
from cactus_actors.gateway.http.request_body import HttpRequest, read_json


class ScaleBody(msgspec.Struct, frozen=True, kw_only=True):
    """A number of workers, or `auto` where the load decides; of a `model` of several."""

    num_workers: Annotated[int, msgspec.Meta(ge=0, le=MAX_WORKERS)] | Literal["auto"]
    model: str | None = None


class RestartBody(msgspec.Struct, frozen=True, kw_only=True):
    """Nothing."""


class DrainBody(msgspec.Struct, frozen=True, kw_only=True):
    """A node, by name or id, and the seconds until it ends; with `keep` it stays after all."""

    node: str
    within_s: Annotated[float, msgspec.Meta(gt=0)] | None = None
    keep: bool = False


@post("/v1/service/scale", status_code=200)
async def scale(request: HttpRequest) -> ASGIResponse:
    """Set the number of workers; running jobs lose nothing."""
    gateway = operators_gateway_of(request, "scale the service")
    body = await read_json(request, gateway.settings.max_body_bytes, lambda body: typed(body, ScaleBody))
    return json_response({"num_workers": await gateway.client.scale(body.num_workers, body.model)})


@post("/v1/service/restart", status_code=200)
async def restart(request: HttpRequest) -> ASGIResponse:
    """Replace every worker, one after the other; running jobs lose nothing."""
    gateway = operators_gateway_of(request, "restart workers")
    await read_json(request, gateway.settings.max_body_bytes, lambda body: typed(body, RestartBody))
    return json_response({"num_workers": await gateway.client.restart_workers()})


@post("/v1/service/drain", status_code=200)
async def drain(request: HttpRequest) -> ASGIResponse:
    """Move the workers of a node to others, or let it stay."""
    gateway = operators_gateway_of(request, "drain nodes")
    body = await read_json(request, gateway.settings.max_body_bytes, lambda body: typed(body, DrainBody))
    if body.keep:
        await gateway.client.keep_node(body.node)
        return json_response({"node": body.node, "num_workers": 0})
    return json_response({"node": body.node, "num_workers": await gateway.client.drain_node(body.node, body.within_s)})


HANDLERS = [scale, restart, drain]

"""/v1/load_lora_adapter and /v1/unload_lora_adapter, in vLLM's format."""

from __future__ import annotations

import msgspec
from litestar import post
from litestar.response.base import ASGIResponse

from cactus_actors.api.conversion import typed
from cactus_actors.gateway.answers.job_responses import json_response
from cactus_actors.gateway.context import operators_gateway_of
from cactus_actors.gateway.http.request_body import HttpRequest, read_json


class LoadAdapterBody(msgspec.Struct, frozen=True, kw_only=True):
    """A LoRA adapter: its name for requests, and its absolute path on the workers' machines; its model of several."""

    lora_name: str
    lora_path: str
    model: str | None = None


class UnloadAdapterBody(msgspec.Struct, frozen=True, kw_only=True):
    """The name of an adapter, and its model of several."""

    lora_name: str
    model: str | None = None


@post("/v1/load_lora_adapter", status_code=200)
async def load_adapter(request: HttpRequest) -> ASGIResponse:
    """Load an adapter into every worker; answers when each has it."""
    gateway = operators_gateway_of(request, "load adapters")
    body = await read_json(request, gateway.settings.max_body_bytes, lambda body: typed(body, LoadAdapterBody))
    num_workers = await gateway.client.load_adapter(body.lora_name, body.lora_path, body.model)
    return json_response({"lora_name": body.lora_name, "num_workers": num_workers})


@post("/v1/unload_lora_adapter", status_code=200)
async def unload_adapter(request: HttpRequest) -> ASGIResponse:
    """Let no more requests name an adapter; those that have it finish on it."""
    gateway = operators_gateway_of(request, "load adapters")
    body = await read_json(request, gateway.settings.max_body_bytes, lambda body: typed(body, UnloadAdapterBody))
    await gateway.client.unload_adapter(body.lora_name, body.model)
    return json_response({"lora_name": body.lora_name})


HANDLERS = [load_adapter, unload_adapter]

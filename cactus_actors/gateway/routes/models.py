"""/v1/models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from litestar import get
from litestar.params import FromPath
from litestar.response.base import ASGIResponse

from cactus_actors.gateway.answers.job_responses import json_response
from cactus_actors.gateway.context import GatewayContext, gateway_of
from cactus_actors.gateway.http.request_body import HttpRequest
from cactus_actors.gateway.served_texts import MAX_MODEL_NAME
from cactus_actors.protocol.errors import ModelNotFound
from cactus_actors.protocol.messages import Status
from cactus_actors.protocol.service_status import AdapterStatus


@get("/v1/models")
async def list_models(request: HttpRequest) -> ASGIResponse:
    """The models that are served, the default one first, and their adapters."""
    gateway = gateway_of(request)
    status = await gateway.status.fresh()
    models = [_card(gateway, name, status) for name in gateway.texts.by_name]
    adapters = [_adapter_card(gateway, adapter, status) for adapter in _adapters(status)]
    return json_response({"object": "list", "data": [*models, *adapters]})


@get("/v1/models/{model:path}")
async def get_model(request: HttpRequest, model: FromPath[Path]) -> ASGIResponse:
    """One model, or one adapter, by its name."""
    gateway = gateway_of(request)
    name = str(model).removeprefix("/")
    status = await gateway.status.fresh()
    if (served := gateway.texts.name_of(name)) is not None:
        return json_response(_card(gateway, served, status))
    for adapter in _adapters(status):
        if name in (adapter.name, f"{_parent(gateway, adapter)}:{adapter.name}"):
            return json_response(_adapter_card(gateway, adapter, status))
    raise ModelNotFound(f"no model {name[:MAX_MODEL_NAME]!r}", param="model")


def _adapters(status: Status | None) -> list[AdapterStatus]:
    """The adapters of the service; none while it does not answer."""
    return [] if status is None else status.adapters


def _adapter_card(gateway: GatewayContext, adapter: AdapterStatus, status: Status | None) -> dict[str, Any]:
    """The card of the model with the fields by which vLLM marks an adapter."""
    parent = _parent(gateway, adapter)
    return _card(gateway, parent, status) | {"id": adapter.name, "aliases": [], "root": adapter.name, "parent": parent}


def _parent(gateway: GatewayContext, adapter: AdapterStatus) -> str:
    """The name of the adapter's model."""
    return adapter.model or gateway.model


def _card(gateway: GatewayContext, name: str, status: Status | None) -> dict[str, Any]:
    text = gateway.texts.by_name[name]
    states = {} if status is None else status.states
    has_chat_template = text.chat_template is not None
    return {
        "id": name,
        "object": "model",
        "created": gateway.created,
        "owned_by": "cactus",
        "aliases": gateway.texts.aliases_of(name),
        "state": states.get(name) if len(states) > 1 else next(iter(states.values()), None),
        "meta": {
            "n_ctx": text.max_context,
            "n_vocab": text.tokenizer.vocab_size,
            "has_chat_template": has_chat_template,
        },
        # Mistral's clients require these fields
        "type": "base",
        "capabilities": {
            "completion_chat": has_chat_template,
            "function_calling": text.chat.is_for_tools,
            "completion_fim": text.fill_tokens is not None,
            "fine_tuning": False,
            "vision": text.pictures is not None,
        },
        "max_context_length": text.max_context,
    }


HANDLERS = [list_models, get_model]

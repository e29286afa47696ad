"""/v1/models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from litestar import get
from litestar.params import FromPath
from litestar.response.base import ASGIResponse

from cactus_actors.gateway.answers.job_responses import MAX_MODEL_NAME, json_response
from cactus_actors.gateway.context import GatewayContext, gateway_of
from cactus_actors.gateway.http.request_body import HttpRequest
from cactus_actors.protocol.errors import ModelNotFound


@get("/v1/models")
async def list_models(request: HttpRequest) -> ASGIResponse:
    """The one model that is served."""
    return json_response({"object": "list", "data": [_card(gateway_of(request))]})


@get("/v1/models/{model:path}")
async def get_model(request: HttpRequest, model: FromPath[Path]) -> ASGIResponse:
    """One model by its name."""
    gateway = gateway_of(request)
    name = str(model).removeprefix("/")
    if name not in (gateway.model, gateway.text.name):
        raise ModelNotFound(f"no model {name[:MAX_MODEL_NAME]!r}", param="model")
    return json_response(_card(gateway))


def _card(gateway: GatewayContext) -> dict[str, Any]:
    text = gateway.text
    has_chat_template = text.chat_template is not None
    return {
        "id": gateway.model,
        "object": "model",
        "created": gateway.created,
        "owned_by": "cactus",
        "meta": {
            "n_ctx": text.max_context,
            "n_vocab": text.tokenizer.vocab_size,
            "has_chat_template": has_chat_template,
        },
        # Mistral's clients require these fields
        "type": "base",
        "capabilities": {
            "completion_chat": has_chat_template,
            "function_calling": text.tool_markup is not None,
            "completion_fim": text.fill_tokens is not None,
            "fine_tuning": False,
            "vision": False,
        },
        "max_context_length": text.max_context,
    }


HANDLERS = [list_models, get_model]

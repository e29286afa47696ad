"""Renders a request as the body for an OpenAI-compatible cloud."""

from __future__ import annotations

from typing import Any

import msgspec

from cactus_actors.protocol.sampling_params import SamplingParams
from cactus_actors.protocol.worker_messages import CloudRequest

# OpenAI's seed is a signed 64-bit integer, ours an unsigned one.
_SEED_MASK = 2**63 - 1


def chat_request_body(request: CloudRequest, params: SamplingParams, model: str) -> dict[str, Any]:
    """A streaming chat-completions body; a bare prompt becomes one user message.

    Only fields that OpenAI documents are sent, and penalties only when they have an effect: many compatible servers
    refuse unknown fields.
    """
    body: dict[str, Any] = {
        "model": model,
        "messages": _messages(request),
        "max_tokens": params.max_tokens,
        "temperature": params.temperature,
        "top_p": params.top_p,
        "seed": params.seed & _SEED_MASK,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if params.stop:
        body["stop"] = list(params.stop)
    if request.tools:
        body["tools"] = request.tools
    if params.presence_penalty:
        body["presence_penalty"] = params.presence_penalty
    if params.frequency_penalty:
        body["frequency_penalty"] = params.frequency_penalty
    return body


def _messages(request: CloudRequest) -> list[dict[str, Any]]:
    if request.messages is None:
        return [{"role": "user", "content": request.prompt or ""}]
    # Clouds refuse or ignore the reasoning of other models.
    return [
        msgspec.to_builtins(msgspec.structs.replace(message, reasoning_content=None)) for message in request.messages
    ]

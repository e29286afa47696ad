"""Renders a request as the body for an OpenAI-compatible cloud."""

from __future__ import annotations

from typing import Any

import msgspec

from cactus_actors.protocol.cloud_question import CloudQuestion
from cactus_actors.protocol.sampling_params import SamplingParams
from cactus_actors.protocol.worker_messages import CloudRequest

# OpenAI's seed is a signed 64-bit integer, ours an unsigned one.
_SEED_MASK = 2**63 - 1


def cloud_question(request: CloudRequest, params: SamplingParams) -> CloudQuestion:
    """The question for a cloud; a bare prompt becomes one user message.

    It has only fields that OpenAI documents, and penalties only when they have an effect: many compatible servers
    refuse unknown fields.
    """
    return CloudQuestion(
        messages=_messages(request),
        max_tokens=params.max_tokens,
        temperature=params.temperature,
        top_p=params.top_p,
        seed=params.seed & _SEED_MASK,
        stop=list(params.stop),
        tools=request.tools or None,
        presence_penalty=params.presence_penalty or None,
        frequency_penalty=params.frequency_penalty or None,
    )


def chat_request_body(request: CloudRequest, params: SamplingParams, model: str) -> dict[str, Any]:
    """A streaming chat-completions body."""
    return {
        **question_body(cloud_question(request, params), model),
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def question_body(question: CloudQuestion, model: str) -> dict[str, Any]:
    """A chat-completions body that is not streamed."""
    return {"model": model, **msgspec.to_builtins(question)}


def _messages(request: CloudRequest) -> list[dict[str, Any]]:
    if request.messages is None:
        return [{"role": "user", "content": request.prompt or ""}]
    # Clouds refuse or ignore the reasoning of other models.
    return [
        msgspec.to_builtins(msgspec.structs.replace(message, reasoning_content=None)) for message in request.messages
    ]

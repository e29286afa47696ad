"""Result and ErrorInfo -> the bodies of OpenAI's completion endpoints."""

from __future__ import annotations

from typing import Any

import msgspec

from cactus_actors.protocol.errors import ErrorInfo
from cactus_actors.protocol.openai.tool_calls import split_tool_calls
from cactus_actors.protocol.results import Result, ToolCall, Usage


def chat_completion_body(
    result: Result, *, completion_id: str, created: int, model: str | None = None, tools_offered: bool = False
) -> dict[str, Any]:
    """A `chat.completion`; `created` is Unix seconds, `model` echoes the request's (else the result's).

    With `tools_offered`, calls in the text become `tool_calls`. A failed result belongs in `error_body`.
    """
    content, calls = split_tool_calls(result.text) if tools_offered else (result.text, [])
    message: dict[str, Any] = {"role": "assistant", "content": content}
    finish_reason: str = result.finish_reason
    if calls:
        finish_reason = "tool_calls"
        message["content"] = content or None
        message["tool_calls"] = [_call(call, f"call_{completion_id}_{i}") for i, call in enumerate(calls)]
    elif finish_reason == "tool_calls":
        finish_reason = "stop"
    choice = {"index": 0, "message": message, "logprobs": None}
    return _body("chat.completion", result, choice, finish_reason, completion_id, created, model)


def text_completion_body(
    result: Result, *, completion_id: str, created: int, model: str | None = None
) -> dict[str, Any]:
    """A `text_completion`; arguments as in `chat_completion_body`."""
    finish_reason = "stop" if result.finish_reason == "tool_calls" else result.finish_reason
    choice = {"index": 0, "text": result.text, "logprobs": None}
    return _body("text_completion", result, choice, finish_reason, completion_id, created, model)


def error_body(info: ErrorInfo, request_id: str | None = None) -> dict[str, Any]:
    """The body of a failed request; `code` is the HTTP status as an integer."""
    error: dict[str, Any] = {
        "message": info.message,
        "type": info.type,
        "code": info.status,
        "param": info.param,
    }
    if request_id is not None:
        error["request_id"] = request_id
    return {"error": error}


def _body(
    kind: str,
    result: Result,
    choice: dict[str, Any],
    finish_reason: str,
    completion_id: str,
    created: int,
    model: str | None,
) -> dict[str, Any]:
    return {
        "id": completion_id,
        "object": kind,
        "created": created,
        "model": model or result.model,
        "choices": [{**choice, "finish_reason": finish_reason, "stop_reason": result.stop_match}],
        "usage": _usage(result.usage),
        "confidence": result.confidence,
        "accepted": result.accepted,
        "cloud_handoff": result.cloud_handoff,
        "handoff": msgspec.to_builtins(result.handoff),
        "timings": msgspec.to_builtins(result.timings),
        "seed": result.seed,
    }


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.total_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
    }


def _call(call: ToolCall, call_id: str) -> dict[str, Any]:
    arguments = msgspec.json.encode(call.arguments).decode()
    return {"id": call_id, "type": "function", "function": {"name": call.name, "arguments": arguments}}

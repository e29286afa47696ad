"""Results and errors as bodies of Anthropic's Messages."""

from __future__ import annotations

from typing import Any

import msgspec

from cactus_actors.api.openai import BodyRequest
from cactus_actors.api.openai.response_fields import call_of, calls_of, extensions_of, model_of
from cactus_actors.protocol.error_info import ErrorInfo
from cactus_actors.protocol.results import Result

STOP_REASONS = {
    "stop": "end_turn",
    "length": "max_tokens",
    "model_length": "model_context_window_exceeded",
    "tool_calls": "tool_use",
}
_ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
    504: "timeout_error",
}


def message_body(request: BodyRequest, result: Result, *, message_id: str) -> dict[str, Any]:
    """The message that answers a request, with the fields beyond Anthropic's after its own."""
    content: list[dict[str, Any]] = []
    if result.reasoning_content:
        content.append({"type": "thinking", "thinking": result.reasoning_content, "signature": ""})
    if result.text:
        content.append({"type": "text", "text": result.text})
    content += [_tool_use(call) for call in calls_of(result, message_id, 0)]
    return {
        **message_head(message_id, model_of(request, result)),
        "content": content,
        **stop_fields(result),
        "usage": usage_of(result),
        **extensions_of(request, result),
    }


def message_head(message_id: str, model: str) -> dict[str, Any]:
    """The fields of a message that are known before its text."""
    return {"id": message_id, "type": "message", "role": "assistant", "model": model}


def tool_use_of(name: str, message_id: str, place: int) -> dict[str, Any]:
    """The block of a call whose input follows."""
    return {"type": "tool_use", "id": call_of(name, "", message_id, 0, place)["id"], "name": name, "input": {}}


def stop_fields(result: Result) -> dict[str, Any]:
    """Why an answer ended; a call that was cut off at its arguments did not end it."""
    if result.finish_reason == "stop" and isinstance(result.stop_match, str):
        return {"stop_reason": "stop_sequence", "stop_sequence": result.stop_match}
    reason = STOP_REASONS.get(result.finish_reason, "end_turn")
    if reason == "tool_use" and not result.tool_calls and not result.incomplete_calls:
        reason = "end_turn"
    return {"stop_reason": reason, "stop_sequence": None}


def usage_of(result: Result) -> dict[str, Any]:
    """Token counts; as in Anthropic's, those of the prompt that were found in the cache are counted apart."""
    usage = result.usage
    return {
        "input_tokens": usage.prompt_tokens - usage.cached_tokens,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": usage.cached_tokens,
        "output_tokens": usage.completion_tokens,
        "output_tokens_details": {"thinking_tokens": usage.reasoning_tokens},
    }


def anthropic_error_body(info: ErrorInfo, request_id: str) -> dict[str, Any]:
    """The body of a failed request, with the field and our type beside Anthropic's."""
    kind = _ERROR_TYPES.get(info.status, "api_error" if info.status >= 500 else "invalid_request_error")
    error = {"type": kind, "message": info.message, "param": info.param, "code": info.type}
    return {"type": "error", "error": error, "request_id": request_id}


def _tool_use(call: dict[str, Any]) -> dict[str, Any]:
    """The block of a call; arguments that were cut off cannot be decoded, and are kept as text."""
    function = call["function"]
    try:
        given = msgspec.json.decode(function["arguments"])
    except msgspec.DecodeError:
        given = {"incomplete": function["arguments"]}
    return {"type": "tool_use", "id": call["id"], "name": function["name"], "input": given}

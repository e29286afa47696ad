"""Renders results and errors as bodies of OpenAI's completion endpoints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cactus_actors.api.openai.body_request import BodyRequest
from cactus_actors.api.openai.logprobs import TextLogprobs, chat_logprobs, num_left_out
from cactus_actors.api.openai.reasoning_fields import WrittenReasoning
from cactus_actors.api.openai.response_fields import (
    calls_of,
    extensions_of,
    finish_reason_of,
    model_of,
    usage_of,
)
from cactus_actors.protocol.error_info import ErrorInfo
from cactus_actors.protocol.results import Result


def completion_body(
    request: BodyRequest,
    results: Sequence[Result],
    *,
    completion_id: str,
    created: int,
    system_fingerprint: str | None = None,
) -> dict[str, Any]:
    """The answer to `request`, whose choice `i` ended with `results[i]`.

    `created` is Unix seconds; the request's spelling of the model is repeated, except for an answer of a cloud,
    which names the cloud's and has no fingerprint. Fields beyond OpenAI's are next to `choices`, and in each choice
    if there are several. A failed result belongs in `error_body`.
    """
    render = _chat_choice if request.endpoint == "chat" else _text_choice
    choices = [render(request, index, result, completion_id) for index, result in enumerate(results)]
    if len(results) > 1:
        own = [extensions_of(request, result) for result in results]
        choices = [{**choice, **extensions} for choice, extensions in zip(choices, own, strict=True)]
    body = {
        "id": completion_id,
        "object": "chat.completion" if request.endpoint == "chat" else "text_completion",
        "created": created,
        "model": model_of(request, results[0]),
        "choices": choices,
        "usage": usage_of(request, results),
        "system_fingerprint": None if results[0].cloud_handoff else system_fingerprint,
    }
    return {**body, **extensions_of(request, results[0])} if len(results) == 1 else body


def error_body(info: ErrorInfo, request_id: str | None = None, *, is_mistral: bool = False) -> dict[str, Any]:
    """The body of a failed request; `code` is the HTTP status as an integer.

    With `is_mistral` the fields are at the top level too, as in Mistral's API, and its `code` is text.
    """
    error: dict[str, Any] = {
        "message": info.message,
        "type": info.type,
        "code": info.status,
        "param": info.param,
    }
    if request_id is not None:
        error["request_id"] = request_id
    if is_mistral:
        return {"object": "error", **error, "code": str(info.status), "error": error}
    return {"error": error}


def _chat_choice(request: BodyRequest, index: int, result: Result, completion_id: str) -> dict[str, Any]:
    written = WrittenReasoning(request.reasoning_format)
    reasoning = written.add("" if request.return_raw_tokens else result.reasoning_content or "")
    calls = calls_of(result, completion_id, index)
    begun = reasoning.pop("content", "") + (written.end() if result.text or calls else "")
    content: str | None = begun + (result.prompt_text or "") + result.text
    message: dict[str, Any] = {"role": "assistant", "content": content, **reasoning}
    if calls:
        message |= {"content": content or None, "tool_calls": calls}
    choice = {
        "index": index,
        "message": message,
        "logprobs": None if result.logprobs is None else chat_logprobs(result.logprobs),
        "finish_reason": finish_reason_of(request, result),
        "stop_reason": result.stop_match,
    }
    return _raw(choice, message, "content", result) if request.return_raw_tokens else choice


def _text_choice(request: BodyRequest, index: int, result: Result, _: str) -> dict[str, Any]:
    choice = {
        "text": (result.prompt_text or "") + result.text,
        "index": index,
        "logprobs": _text_logprobs(request, index, result),
        "finish_reason": finish_reason_of(request, result),
        "stop_reason": result.stop_match,
    }
    return _raw(choice, choice, "text", result) if request.return_raw_tokens else choice


def _raw(choice: dict[str, Any], holder: dict[str, Any], field: str, result: Result) -> dict[str, Any]:
    """The choice with token ids instead of text."""
    holder[field] = ""
    choice["tokens"] = list(result.token_ids)
    return choice


def _text_logprobs(request: BodyRequest, index: int, result: Result) -> dict[str, Any] | None:
    if result.logprobs is None:
        return None
    echoed = result.prompt_logprobs or []
    rendering = TextLogprobs(0 if result.prompt_text is not None else request.text_offset(index))
    return rendering.render([*echoed, *result.logprobs], num_left_out=num_left_out(echoed, result.prompt_text))

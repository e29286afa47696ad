"""A response of OpenAI's Responses, before and after its end."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import msgspec

from cactus_actors.api.openai import BodyRequest
from cactus_actors.api.openai.response_fields import extensions_of, model_of
from cactus_actors.api.responses.body_fields import Item
from cactus_actors.protocol.error_info import ErrorInfo
from cactus_actors.protocol.results import Result

_STATUSES = {"length": "incomplete", "model_length": "incomplete", "cancelled": "cancelled"}


class ResponseHead(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a response before its end: id, Unix seconds, and the fields that repeat its request."""

    response_id: str
    created_at: int
    repeated: dict[str, Any]

    @property
    def is_background(self) -> bool:
        """True if nobody waits for the answer."""
        return bool(self.repeated["background"])

    def body(self, status: str) -> dict[str, Any]:
        """The response while it has no output."""
        return {
            "id": self.response_id,
            "object": "response",
            "created_at": self.created_at,
            "status": status,
            "completed_at": None,
            "error": None,
            "incomplete_details": None,
            "output": [],
            "usage": None,
            **self.repeated,
        }


def status_of(result: Result) -> str:
    """The status of a response that did not fail."""
    return _STATUSES.get(result.finish_reason, "completed")


def ended_body(head: ResponseHead, asked: BodyRequest, result: Result, output: Sequence[Item]) -> dict[str, Any]:
    """The response to a job that did not fail, with the fields beyond OpenAI's after its own."""
    status = status_of(result)
    more: dict[str, Any] = {"output": list(output), "model": model_of(asked, result), "usage": usage_of(result)}
    if status == "completed":
        more["completed_at"] = head.created_at + math.ceil(result.timings.total_time_ms / 1000)
    if status == "incomplete":
        more["incomplete_details"] = {"reason": "max_output_tokens"}
    return {**head.body(status), **more, **extensions_of(asked, result)}


def failed_body(head: ResponseHead, error: ErrorInfo, result: Result | None, output: Sequence[Item]) -> dict[str, Any]:
    """The response to a job that failed, with what was answered before, and the answer of the local model, if any."""
    code = "rate_limit_exceeded" if error.status == 429 else "server_error"
    if 400 <= error.status < 429:
        code = "invalid_prompt"
    more = {"code": code, "message": error.message, "type": error.type, "param": error.param}
    body = {**head.body("failed"), "error": more, "output": list(output)}
    if result is None:
        return body
    return {**body, "usage": usage_of(result), "handoff": msgspec.to_builtins(result.handoff)}


def usage_of(result: Result) -> dict[str, Any]:
    """Token counts; those of the prompt that were found in the cache are among the input's."""
    usage = result.usage
    return {
        "input_tokens": usage.prompt_tokens,
        "input_tokens_details": {"cached_tokens": usage.cached_tokens, "cache_write_tokens": 0},
        "output_tokens": usage.completion_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
        "total_tokens": usage.total_tokens,
    }

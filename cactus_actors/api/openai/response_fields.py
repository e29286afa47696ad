"""The parts shared by whole answers and chunks of a stream."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import UNSET

from cactus_actors.api.openai.body_request import BodyRequest
from cactus_actors.protocol.results import NOT_ALLOWED, Result, ToolCall, Usage


def usage_of(request: BodyRequest, results: Sequence[Result]) -> dict[str, Any]:
    """The `usage` of all choices; a prompt with several choices counts once."""
    prompts = [result.usage for result in results[:: request.n]]
    usage = Usage(
        prompt_tokens=sum(one.prompt_tokens for one in prompts),
        completion_tokens=sum(result.usage.completion_tokens for result in results),
        cached_tokens=sum(one.cached_tokens for one in prompts),
        reasoning_tokens=sum(result.usage.reasoning_tokens for result in results),
    )
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.total_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
    }


def model_of(request: BodyRequest, result: Result) -> str:
    """The answering model: the cloud's or that of a cascade, or the served one by the request's name for it."""
    is_cascade = result.handoff.path is not UNSET
    return result.model if result.cloud_handoff or is_cascade else request.model or result.model


def finish_reason_of(request: BodyRequest, result: Result) -> str:
    """The finish reason as the endpoint names it."""
    if result.finish_reason == "model_length" and not (request.endpoint == "chat" and request.is_mistral):
        return "length"
    has_calls = bool(result.tool_calls or result.incomplete_calls)
    if result.finish_reason == "tool_calls" and (request.endpoint == "completion" or not has_calls):
        return "stop"
    return result.finish_reason


def call_of(name: str, arguments: str, completion_id: str, choice: int, place: int) -> dict[str, Any]:
    """A call in an assistant's message.

    Its id has nine letters and digits: the templates of some families refuse any other.
    """
    of = f"{completion_id}/{choice}/{place}"
    return {
        "id": hashlib.blake2b(of.encode(), digest_size=8).hexdigest()[:9],
        "type": "function",
        "function": {"name": name, "arguments": arguments},
    }


def arguments_of(call: ToolCall) -> str:
    """The arguments of a call as JSON text."""
    return msgspec.json.encode(call.arguments).decode()


def calls_of(result: Result, completion_id: str, choice: int) -> list[dict[str, Any]]:
    """The calls of an answer in their order; the arguments of an incomplete one are a truncated JSON text."""
    texts = [(call.name, arguments_of(call)) for call in result.tool_calls]
    for incomplete in result.incomplete_calls:
        texts.insert(incomplete.index, (incomplete.name, incomplete.arguments))
    return [call_of(name, text, completion_id, choice, place) for place, (name, text) in enumerate(texts)]


def extensions_of(request: BodyRequest, result: Result) -> dict[str, Any]:
    """Fields of a response beyond OpenAI's."""
    handoff = result.handoff
    if request.local_reason is not None and handoff.reason == NOT_ALLOWED:
        handoff = msgspec.structs.replace(handoff, reason=request.local_reason)
    extensions: dict[str, Any] = {
        "confidence": result.confidence,
        "accepted": result.accepted,
        "cloud_handoff": result.cloud_handoff,
        "handoff": msgspec.to_builtins(handoff),
        "measures": msgspec.to_builtins(result.measures),
        "timings": _timings(result),
        **seed_fields(result),
    }
    if result.selected_tools is not None:
        extensions["selected_tools"] = result.selected_tools
    if result.sources:
        extensions["sources"] = msgspec.to_builtins(result.sources)
    return extensions


def seed_fields(result: Result) -> dict[str, Any]:
    """The seed, and its digits as text where some readers of JSON round it."""
    return {"seed": result.seed} | ({} if result.seed_text is None else {"seed_text": result.seed_text})


def _per_second(num_tokens: int, milliseconds: float) -> float:
    return round(num_tokens * 1000.0 / milliseconds, 3) if num_tokens > 0 and milliseconds > 0 else 0.0


def _timings(result: Result) -> dict[str, Any]:
    """The names of llama.cpp's server, and latencies since the job was accepted.

    The times of a prompt are null if none was measured: a cloud reports none, and an answer without tokens has
    none.
    """
    timings, usage = result.timings, result.usage
    prompt_ms = max(0.0, timings.time_to_first_token_ms - timings.queue_ms)
    is_known = not result.cloud_handoff and timings.time_to_first_token_ms > 0
    begins_at_ms = timings.time_to_first_token_ms or timings.total_time_ms
    predicted_ms = max(0.0, timings.total_time_ms - begins_at_ms)
    num_computed = usage.prompt_tokens - usage.cached_tokens
    return {
        "cache_n": usage.cached_tokens,
        "prompt_n": num_computed,
        "prompt_ms": round(prompt_ms, 3) if is_known else None,
        "prompt_per_token_ms": round(prompt_ms / max(1, num_computed), 3) if is_known else None,
        "prompt_per_second": _per_second(num_computed, prompt_ms) if is_known else None,
        "predicted_n": usage.completion_tokens,
        "predicted_ms": round(predicted_ms, 3),
        "predicted_per_token_ms": round(predicted_ms / max(1, usage.completion_tokens), 3),
        "predicted_per_second": _per_second(usage.completion_tokens, predicted_ms),
        "queue_ms": timings.queue_ms,
        "time_to_first_token_ms": timings.time_to_first_token_ms,
        "total_time_ms": timings.total_time_ms,
    }

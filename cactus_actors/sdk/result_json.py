"""A Result as the JSON of `cactus_complete`, with every field in both documented spellings."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from cactus_actors.protocol.errors import CactusError
from cactus_actors.protocol.results import Result

_STOP_REASONS = {"tool_calls": "tool_call", "model_length": "length"}


def render(result: Result, ignored_options: Sequence[str] = ()) -> str:
    """A JSON object with the same keys for success and failure."""
    usage, timings = result.usage, result.timings
    calls = msgspec.to_builtins(result.tool_calls)
    fields = {
        "success": result.success,
        "error": None if result.error is None else result.error.message,
        "error_type": None if result.error is None else result.error.type,
        "error_param": None if result.error is None else result.error.param,
        "cloud_handoff": result.cloud_handoff,
        "handoff": result.handoff,
        "response": result.text,
        "text": result.text,
        "thinking": result.reasoning_content,
        "reasoning_content": result.reasoning_content,
        "function_calls": calls,
        "tool_calls": calls,
        "incomplete_calls": result.incomplete_calls,
        "stop_reason": _STOP_REASONS.get(result.finish_reason, result.finish_reason),
        "stop_match": result.stop_match,
        "confidence": None if result.cloud_handoff else result.confidence or 0.0,
        "accepted": result.accepted,
        "measures": result.measures,
        "queue_ms": timings.queue_ms,
        "time_to_first_token_ms": timings.time_to_first_token_ms,
        "total_time_ms": timings.total_time_ms,
        "prefill_tps": timings.prefill_tokens_per_second,
        "prefill_tokens_per_second": timings.prefill_tokens_per_second,
        "decode_tps": timings.decode_tokens_per_second,
        "decode_tokens_per_second": timings.decode_tokens_per_second,
        "ram_usage_mb": result.ram_usage_mb,
        "prefill_tokens": usage.prompt_tokens,
        "prompt_tokens": usage.prompt_tokens,
        "decode_tokens": usage.completion_tokens,
        "completion_tokens": usage.completion_tokens,
        "reasoning_tokens": usage.reasoning_tokens,
        "total_tokens": usage.total_tokens,
        "cached_tokens": usage.cached_tokens,
        "model": result.model,
        "seed": result.seed,
        "seed_text": result.seed_text,
        "sources": result.sources,
        "selected_tools": result.selected_tools,
        "prompt_text": result.prompt_text,
        "logprobs": result.logprobs,
        "prompt_logprobs": result.prompt_logprobs,
        "ignored_options": list(ignored_options),
    }
    return msgspec.json.encode(fields).decode()


def failed(error: CactusError) -> Result:
    """The result of a refused request."""
    return error.result or Result(success=False, error=error.info(), finish_reason="error", accepted=False)

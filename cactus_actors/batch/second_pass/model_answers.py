"""Lines that a second model of the service has answered: their bodies, and the path that they took."""

from __future__ import annotations

import math
from typing import Any

import msgspec

from cactus_actors.api.openai import BodyRequest, completion_body
from cactus_actors.protocol.results import Handoff, HandoffTier, Measures, Result, Usage

REASON = "second pass"
"""Of an answer of a second pass; in the path of a line, the gate of the model before it."""


def body_of_model(
    request: BodyRequest, result: Result, model: str, system_fingerprint: str | None = None
) -> dict[str, Any]:
    """The body of a model's answer; its path has the model alone."""
    tier = HandoffTier(
        model=model,
        confidence=result.handoff.confidence if result.handoff.confidence is not None else _signal(result),
        threshold=result.handoff.threshold,
        latency_ms=result.timings.total_time_ms,
        usage=result.usage,
    )
    handoff = msgspec.structs.replace(result.handoff, path=[tier], model=model)
    result = msgspec.structs.replace(result, handoff=handoff, model=model)
    return completion_body(request, [result], completion_id="", created=0, system_fingerprint=system_fingerprint)


def answered_by_model(body: dict[str, Any], answered: dict[str, Any]) -> dict[str, Any]:
    """The body of a line with the answer of a model, as if the line had come to it in a cascade.

    A body that has this answer stays.
    """
    before, path = _path_of(body), answered["handoff"]["path"]
    if before[-1:] == path:
        return body
    before[-1]["gate"] = before[-1]["gate"] or REASON
    handoff = {**answered["handoff"], "path": [*before, *path]}
    kept = {name: body[name] for name in ("id", "created")}
    return {**answered, **kept, "handoff": handoff}


def read_usage(usage: dict[str, Any]) -> Usage:
    """The token counts of an answer, from its `usage`."""
    return Usage(
        prompt_tokens=usage["prompt_tokens"],
        completion_tokens=usage["completion_tokens"],
        cached_tokens=usage["prompt_tokens_details"]["cached_tokens"],
        reasoning_tokens=usage["completion_tokens_details"]["reasoning_tokens"],
    )


def _path_of(body: dict[str, Any]) -> list[dict[str, Any]]:
    """The models that were asked so far: those of a cascade or of an earlier second pass, or the one that answered."""
    handoff = msgspec.convert(body["handoff"], Handoff)
    if isinstance(handoff.path, list):
        path = handoff.path
    else:
        tier = HandoffTier(
            model=body["model"],
            confidence=handoff.confidence,
            threshold=handoff.threshold,
            latency_ms=body["timings"]["total_time_ms"],
            usage=read_usage(body["usage"]),
        )
        path = [tier]
    return [msgspec.to_builtins(tier) for tier in path]


def _signal(result: Result) -> float | None:
    """The service's signal of a whole answer."""
    measures = result.measures or Measures()
    match result.handoff.signal:
        case "answer_prob" if result.measures is not None:
            num_tokens = result.usage.completion_tokens - result.usage.reasoning_tokens
            return math.exp(measures.mean_logprob * num_tokens)
        case "min_token_prob" if result.measures is not None:
            return measures.min_token_prob
        case "probe":
            return measures.probe
        case "probability":
            return measures.probability
    return result.confidence

"""The Result of a job, from its record."""

from __future__ import annotations

import msgspec

from cactus_actors.protocol.confidence import NO_FITS, SignalFits, SignalName
from cactus_actors.protocol.exact_integers import is_exact, text_if_inexact
from cactus_actors.protocol.handoff_gates import DEFAULT_GATES, HandoffGates
from cactus_actors.protocol.messages import JobState
from cactus_actors.protocol.results import (
    FinishReason,
    Result,
    Timings,
    ToolCall,
)
from cactus_actors.router.cascade.confidence_gates import confidence_of
from cactus_actors.router.lifecycle.handoff_result import (
    cloud_usage,
    handoff_of,
    local_usage,
    measures_of,
    with_gate_inputs,
)
from cactus_actors.router.state.job import Job
from cactus_actors.router.state.local_run import JobEnding
from cactus_actors.router.state.token_log import TokenLog
from cactus_actors.tools.call_splitter import ParsedText, parse_calls

_STATES: dict[str, JobState] = {"error": "failed", "cancelled": "cancelled"}


def ended_state(ending: JobEnding) -> JobState:
    return _STATES.get(ending.reason, "finished")


def make_result(
    job: Job,
    ending: JobEnding,
    now: float,
    *,
    ram_usage_mb: float = 0.0,
    signal: SignalName = "entropy",
    fits: SignalFits = NO_FITS,
    gates: HandoffGates = DEFAULT_GATES,
    fingerprint: str = "",
) -> Result:
    """The outcome in the job's record; time is the router's monotonic clock, in seconds.

    A cloud's answer has its own model and counts, and neither confidence nor measures, which are unknown. `handoff`
    has those of the local answer that it replaced.
    """
    prepared, stream, local = job.prepared, job.stream, job.local
    is_local = stream is local.log
    measures = measures_of(local, fits, gates)
    if measures is not None and prepared.policy.returns_gate_inputs:
        measures = with_gate_inputs(measures, local, fits, gates, fingerprint)
    confidence = confidence_of(local.log.confidence_samples.entropies) if is_local else None
    threshold = prepared.policy.confidence_threshold
    parsed = _parsed(job)
    return Result(
        text=parsed.text,
        token_ids=list(stream.token_ids),
        finish_reason=_finish_reason(job, ending, bool(parsed.calls or parsed.incomplete_calls)),
        stop_match=ending.stop_match,
        success=ending.error is None,
        error=ending.error,
        confidence=confidence,
        accepted=not is_local or _reaches(confidence, threshold, local.log),
        cloud_handoff=job.handoff.decision is not None and job.handoff.decision.status == "completed",
        handoff=handoff_of(job, ending, signal, gates, measures),
        measures=measures if is_local else None,
        usage=local_usage(job) if is_local else cloud_usage(job),
        timings=_timings(job, now),
        model=stream.model or prepared.model,
        seed=prepared.params.seed,
        seed_text=text_if_inexact(prepared.params.seed),
        attempts=job.attempts.num_started,
        worker=job.attempts.worker,
        tool_calls=list(map(_exact, parsed.calls)),
        incomplete_calls=parsed.incomplete_calls,
        stream_text=None if parsed.text == stream.text else stream.text,
        logprobs=stream.token_logprobs(),
        prompt_logprobs=stream.prompt_logprobs(),
        prompt_text=prepared.prompt_text,
        embedding=local.embedding,
        embedding_length=local.embedding_length,
        selected_tools=prepared.selected_tools,
        sources=list(prepared.sources),
        ram_usage_mb=ram_usage_mb,
        reasoning_content=None if stream.reasoning is None else stream.reasoning.text or None,
    )


def _reaches(confidence: float | None, threshold: float, log: TokenLog) -> bool:
    """True if the confidence reaches the threshold, or the answer has no tokens."""
    return len(log) == 0 if confidence is None else confidence >= threshold


def _parsed(job: Job) -> ParsedText:
    """The text without its tool calls, and the calls, of a job that was offered tools."""
    prepared, text = job.prepared, job.stream.text
    if prepared.tool_markup is None:
        return ParsedText(text)
    parsed = parse_calls(prepared.tool_markup, text, prepared.readable_tools)
    return parsed.first_call() if prepared.single_call else parsed


def _exact(call: ToolCall) -> ToolCall:
    """The call with its arguments as text, where readers of JSON would round one of them."""
    if is_exact(call.arguments):
        return call
    text = msgspec.json.encode(call.arguments).decode()
    return msgspec.structs.replace(call, arguments_text=text)


def _finish_reason(job: Job, ending: JobEnding, has_calls: bool) -> FinishReason:
    """The finish reason: `tool_calls` with calls, `model_length` at the context's end if the job asks for it."""
    match ending.reason:
        case "stop" | "tool_calls":
            return "tool_calls" if has_calls else "stop"
        case "length" | "model_length":
            return "model_length" if job.prepared.ends_context else "length"
    return ending.reason


def _timings(job: Job, now: float) -> Timings:
    stream, arrived_at, started_at = job.stream, job.submission.arrived_at, job.attempts.started_at
    total_ms = _milliseconds(now - arrived_at)
    if started_at is None:
        return Timings(queue_ms=total_ms, total_time_ms=total_ms)
    first_at = stream.first_at if stream.first_at is not None else now
    is_local = stream is job.local.log
    num_tokens = len(stream) if is_local else cloud_usage(job).completion_tokens
    prompt_s = first_at - started_at if is_local else 0.0
    return Timings(
        queue_ms=_milliseconds(started_at - arrived_at),
        time_to_first_token_ms=_milliseconds(first_at - arrived_at) if len(stream) else 0.0,
        total_time_ms=total_ms,
        prefill_tokens_per_second=_rate(len(job.prepared.prompt_ids) - job.local.cached_tokens, prompt_s),
        decode_tokens_per_second=_rate(num_tokens - 1, stream.last_at - first_at),
    )


def _milliseconds(seconds: float) -> float:
    return round(seconds * 1000.0, 3)


def _rate(num_tokens: int, seconds: float) -> float:
    return round(num_tokens / seconds, 3) if num_tokens > 0 and seconds > 0 else 0.0

"""The report on a job that ended, without its prompt and its answer."""

from __future__ import annotations

from typing import Literal

import msgspec

from cactus_actors.protocol.messages import JobState, Submit
from cactus_actors.protocol.results import FinishReason, HandoffStatus, Result
from cactus_actors.router.state.job import Job

Operation = Literal["completion", "chat", "embedding"]


class JobReport(msgspec.Struct, frozen=True, kw_only=True):
    """One ended job; made once, by the router under which it ended.

    Seconds are durations on the router's monotonic clock. `queue_s` is from the job's arrival to its first
    dispatch, or to its end if it was never dispatched; `prefill_s` from there to the local model's first
    token; `first_token_s` from arrival to the first token of the answer, `decode_s` from that to its last.
    What did not happen is None. `error` is the type of the error that it ended with, `provider` the cloud
    that answered, `confidence` the local model's. `max_tokens` is what the job might have generated.
    `traceparent` is the W3C trace context that it came with.
    """

    job_id: str
    tenant: str
    epoch: int
    model: str = ""
    operation: Operation
    worker: str = ""
    attempts: int = 0
    state: JobState
    finish_reason: FinishReason
    error: str | None = None
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    max_tokens: int | None = None
    queue_s: float
    prefill_s: float | None = None
    first_token_s: float | None = None
    decode_s: float | None = None
    total_s: float
    handoff: HandoffStatus = "none"
    provider: str | None = None
    confidence: float | None = None
    traceparent: str | None = None


def report_of(job: Job, result: Result, state: JobState, epoch: int, now: float) -> JobReport:
    """The report of a job that ends now with this result."""
    prepared, stream, dispatched_at = job.prepared, job.stream, job.attempts.started_at
    return JobReport(
        job_id=job.job_id,
        tenant=job.tenant,
        epoch=epoch,
        model=result.model,
        operation=_operation(prepared.task == "embed", prepared.request.messages is not None),
        worker=result.worker,
        attempts=result.attempts,
        state=state,
        finish_reason=result.finish_reason,
        error=result.error.type if result.error else None,
        prompt_tokens=result.usage.prompt_tokens,
        cached_tokens=result.usage.cached_tokens,
        completion_tokens=result.usage.completion_tokens,
        max_tokens=prepared.params.max_tokens,
        queue_s=(now if dispatched_at is None else dispatched_at) - job.submission.arrived_at,
        prefill_s=_between(dispatched_at, job.local.log.first_at),
        first_token_s=_between(job.submission.arrived_at, stream.first_at),
        decode_s=_between(stream.first_at, stream.last_at),
        total_s=now - job.submission.arrived_at,
        handoff=result.handoff.status,
        provider=result.handoff.provider,
        confidence=result.handoff.local_confidence or result.confidence,
        traceparent=job.submission.traceparent,
    )


def report_of_unprepared(submit: Submit, result: Result, tenant: str, epoch: int, seconds: float) -> JobReport:
    """The report of a job that an earlier router accepted and that cannot be prepared any more."""
    return JobReport(
        job_id=submit.job_id,
        tenant=tenant,
        epoch=epoch,
        operation=_operation(submit.task == "embed", submit.messages is not None),
        state="failed",
        finish_reason=result.finish_reason,
        error=result.error.type if result.error else None,
        queue_s=seconds,
        total_s=seconds,
        traceparent=submit.traceparent,
    )


def _between(start: float | None, end: float | None) -> float | None:
    return None if start is None or end is None else end - start


def _operation(is_embedding: bool, is_chat: bool) -> Operation:
    if is_embedding:
        return "embedding"
    return "chat" if is_chat else "completion"

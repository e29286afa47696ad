"""The job log: one JSON object a line for each job that ended, without a word of prompt or answer."""

from __future__ import annotations

import contextlib
import hashlib
import logging
from datetime import UTC, datetime
from typing import Literal

import msgspec

from cactus_actors.protocol.trace_context import trace_id_of
from cactus_actors.router.state.job_report import JobReport
from cactus_actors.router.telemetry.rotating_file import RotatingFile

MAX_STRING = 120
MAX_LINE = 4096
"""Bytes that a pipe takes in one piece."""

_encode = msgspec.json.Encoder().encode
_log = logging.getLogger(__name__)


class _Dated(msgspec.Struct):
    ts: str


class JobLine(msgspec.Struct, frozen=True, kw_only=True):
    """One line; times are in milliseconds, null for a phase that did not happen.

    `ts` is when the job ended, `dur_ms` how long it took since it arrived. `code` is the type of the error
    that it ended with. `tenant_hash` is the same for all jobs of a tenant.
    """

    ts: str
    level: Literal["info", "warning"]
    event: Literal["job"] = "job"
    job_id: str
    tenant_hash: str | None = None
    epoch: int
    operation: str
    model: str
    state: str
    finish_reason: str
    code: str | None = None
    worker: str | None = None
    attempt: int = 0
    dur_ms: float
    queue_ms: float
    prefill_ms: float | None = None
    first_token_ms: float | None = None
    decode_ms: float | None = None
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    max_tokens: int | None = None
    confidence: float | None = None
    handoff: str = "none"
    provider: str | None = None
    trace_id: str | None = None


class LeftOut(msgspec.Struct, frozen=True, kw_only=True):
    """A line in place of `count` lines that could not be written."""

    ts: str
    level: Literal["warning"] = "warning"
    event: Literal["left_out"] = "left_out"
    count: int


class JobLog:
    """Writes a line for each job; lines that cannot be written are left out and counted, with one warning."""

    def __init__(self, file: RotatingFile) -> None:
        self._file = file
        self._num_left_out = 0

    def record(self, report: JobReport, ended_at: float) -> None:
        ts = timestamp(ended_at)
        try:
            if self._num_left_out:
                self._append(LeftOut(ts=ts, count=self._num_left_out))
                _log.warning("the job log is written again, %d lines were dropped", self._num_left_out)
                self._num_left_out = 0
            self._append(line_of(report, ts))
        except OSError as error:
            if not self._num_left_out:
                _log.warning("the job log cannot be written, lines are dropped: %s", error)
            self._num_left_out += 1

    def dropped(self, count: int) -> None:
        if not self._num_left_out:
            _log.warning("the job log cannot keep up with the jobs that end, lines are dropped")
        self._num_left_out += count

    def close(self) -> None:
        self._file.close()

    def _append(self, line: JobLine | LeftOut) -> None:
        self._file.append(_encode(line) + b"\n")


def time_of(line: bytes) -> float | None:
    """The Unix time of a line of the log; None for any other line."""
    with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError, ValueError):
        return datetime.fromisoformat(msgspec.json.decode(line, type=_Dated).ts).timestamp()
    return None


def line_of(report: JobReport, ts: str) -> JobLine:
    """The line of a job."""
    return JobLine(
        ts=ts,
        level="info" if report.error is None else "warning",
        job_id=_capped(report.job_id),
        tenant_hash=tenant_hash(report.tenant),
        epoch=report.epoch,
        operation=report.operation,
        model=_capped(report.model),
        state=report.state,
        finish_reason=report.finish_reason,
        code=report.error,
        worker=_capped(report.worker) or None,
        attempt=report.attempts,
        dur_ms=_milliseconds(report.total_s),
        queue_ms=_milliseconds(report.queue_s),
        prefill_ms=_milliseconds_or_none(report.prefill_s),
        first_token_ms=_milliseconds_or_none(report.first_token_s),
        decode_ms=_milliseconds_or_none(report.decode_s),
        prompt_tokens=report.prompt_tokens,
        cached_tokens=report.cached_tokens,
        completion_tokens=report.completion_tokens,
        max_tokens=report.max_tokens,
        confidence=None if report.confidence is None else round(report.confidence, 4),
        handoff=report.handoff,
        provider=None if report.provider is None else _capped(report.provider),
        trace_id=None if report.traceparent is None else trace_id_of(report.traceparent),
    )


def tenant_hash(tenant: str) -> str | None:
    """16 hexadecimal digits for a tenant, None without tenants."""
    return hashlib.blake2b(tenant.encode(), digest_size=8, person=b"tenant").hexdigest() if tenant else None


def _capped(text: str) -> str:
    return text[:MAX_STRING]


def _milliseconds(seconds: float) -> float:
    return round(seconds * 1000, 3)


def _milliseconds_or_none(seconds: float | None) -> float | None:
    return None if seconds is None else _milliseconds(seconds)


def timestamp(unix_s: float) -> str:
    """UTC in ISO 8601, to the millisecond."""
    return datetime.fromtimestamp(unix_s, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

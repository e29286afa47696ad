"""One OpenTelemetry span for each job that ended, with the attributes of the GenAI conventions.

Names: https://github.com/open-telemetry/semantic-conventions-genai; content is never recorded.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import SpanKind, Status, StatusCode, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from cactus_actors.router.state.job_report import JobReport

PROVIDER = "cactus"
_OPERATIONS = {"completion": "text_completion", "chat": "chat", "embedding": "embeddings"}

_log = logging.getLogger(__name__)


class Spans:
    """Sends a span for each job, with child spans for its phases, from the SDK's own thread."""

    def __init__(self, endpoint: str, resource: Resource, version: str) -> None:
        """`endpoint` is the collector's root, before /v1/traces."""
        for name in ("opentelemetry.exporter.otlp", "opentelemetry.sdk.trace.export"):
            logging.getLogger(name).setLevel(logging.CRITICAL)  # failures are counted, and logged once
        exporter = OTLPSpanExporter(endpoint=f"{endpoint.rstrip('/')}/v1/traces")
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._exporter = CountedExporter(exporter)
        self._provider.add_span_processor(BatchSpanProcessor(self._exporter))
        self._tracer = self._provider.get_tracer("cactus_actors", version)

    def record(self, report: JobReport, ended_at: float) -> None:
        end = _nanoseconds(ended_at)
        start = end - _nanoseconds(report.total_s)
        parent = TraceContextTextMapPropagator().extract({"traceparent": report.traceparent or ""})
        operation = _OPERATIONS[report.operation]
        span = self._tracer.start_span(
            f"{operation} {report.model}".rstrip(),
            parent,
            SpanKind.SERVER,
            attributes=attributes_of(report),
            start_time=start,
        )
        if report.error is not None:
            span.set_status(Status(StatusCode.ERROR))
        within = set_span_in_context(span)
        for name, since, seconds in phases_of(report):
            phase = self._tracer.start_span(name, within, start_time=start + _nanoseconds(since))
            phase.end(min(end, start + _nanoseconds(since + seconds)))
        span.end(end)

    def dropped(self, count: int) -> None:
        self._exporter.num_lost += count

    def close(self) -> None:
        self._provider.shutdown()


class CountedExporter(SpanExporter):
    """Counts the spans that cannot be sent; logs the begin and the end of each failure."""

    def __init__(self, exporter: SpanExporter) -> None:
        self._exporter = exporter
        self.num_lost = 0
        self._is_failing = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        try:
            result = self._exporter.export(spans)
        except Exception as error:
            result = SpanExportResult.FAILURE
            _log.debug("no connection to the OpenTelemetry collector: %s", type(error).__name__)
        if result is SpanExportResult.SUCCESS:
            if self._is_failing:
                _log.warning(
                    "the OpenTelemetry collector accepts spans again, at least %d spans were dropped", self.num_lost
                )
            self._is_failing = False
        else:
            self.num_lost += len(spans)
            if not self._is_failing:
                _log.warning("the OpenTelemetry collector accepts no spans, they are dropped and counted")
            self._is_failing = True
        return result

    def shutdown(self) -> None:
        self._exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self._exporter.force_flush(timeout_millis)


def resource_of(version: str) -> Resource:
    """The resource of the router, unless the SDK's own variables set another."""
    return Resource.create({SERVICE_NAME: "cactus", SERVICE_VERSION: version})


def attributes_of(report: JobReport) -> dict[str, Any]:
    """The attributes of a job's span."""
    attributes: dict[str, Any] = {
        "gen_ai.operation.name": _OPERATIONS[report.operation],
        "gen_ai.provider.name": PROVIDER,
        "gen_ai.request.model": report.model,
        "gen_ai.request.max_tokens": report.max_tokens,
        "gen_ai.response.id": report.job_id,
        "gen_ai.response.model": report.model,
        "gen_ai.response.finish_reasons": [report.finish_reason],
        "gen_ai.usage.input_tokens": report.prompt_tokens,
        "gen_ai.usage.output_tokens": report.completion_tokens,
        "gen_ai.usage.cache_read.input_tokens": report.cached_tokens,
        "error.type": report.error,
        "cactus.job.state": report.state,
        "cactus.worker": report.worker or None,
        "cactus.epoch": report.epoch,
        "cactus.attempts": report.attempts,
        "cactus.handoff.status": report.handoff,
        "cactus.handoff.provider": report.provider,
        "cactus.confidence": report.confidence,
    }
    return {name: value for name, value in attributes.items() if value is not None}


def phases_of(report: JobReport) -> list[tuple[str, float, float]]:
    """(name, seconds from the job's arrival, duration in seconds) of each phase of the job."""
    phases = [("queue", 0.0, report.queue_s)]
    if report.prefill_s is not None:
        phases.append(("prefill", report.queue_s, report.prefill_s))
    if report.first_token_s is not None and report.decode_s is not None:
        phases.append(("decode", report.first_token_s, report.decode_s))
    return phases


def _nanoseconds(seconds: float) -> int:
    return round(seconds * 1e9)

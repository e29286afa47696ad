"""An OpenTelemetry collector that keeps all data that it receives over HTTP."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.support.http.serving import Request, http_serving


class Collector:
    """`spans` are in the order of their arrival, `metrics` has the newest by name; `bodies` are unparsed."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.bodies: list[bytes] = []
        self.metrics: dict[str, Metric] = {}
        self.resource: dict[str, Any] = {}
        self.url = ""

    def take(self, path: str, body: bytes) -> int:
        self.bodies.append(body)
        if path == "/v1/metrics":
            for resource_metrics in ExportMetricsServiceRequest.FromString(body).resource_metrics:
                for scope_metrics in resource_metrics.scope_metrics:
                    self.metrics |= {metric.name: metric for metric in scope_metrics.metrics}
            return 200
        if path != "/v1/traces":
            return 404
        for resource_spans in ExportTraceServiceRequest.FromString(body).resource_spans:
            self.resource = attributes(resource_spans.resource.attributes)
            for scope_spans in resource_spans.scope_spans:
                self.spans += scope_spans.spans
        return 200

    def jobs(self, count: int, seconds: float = 60.0) -> list[Span]:
        """The spans of jobs; waits until there are this number of them."""
        deadline = time.monotonic() + seconds
        while len(found := [span for span in self.spans if span.kind == Span.SPAN_KIND_SERVER]) < count:
            assert time.monotonic() < deadline, f"{len(found)} of {count} jobs were told"
            time.sleep(0.05)
        return found

    def phases(self, job: Span) -> dict[str, tuple[int, int]]:
        """(start, end) in nanoseconds of the spans below a job's span."""
        return {
            span.name: (span.start_time_unix_nano, span.end_time_unix_nano)
            for span in self.spans
            if span.parent_span_id == job.span_id
        }


def attributes(pairs: Any) -> dict[str, Any]:
    """Attributes as plain values."""
    return {pair.key: _plain(pair.value) for pair in pairs if isinstance(pair, KeyValue)}


def _plain(value: AnyValue) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_plain(each) for each in value.array_value.values]
    return getattr(value, str(kind))


@contextmanager
def collecting() -> Iterator[Collector]:
    """A collector on a free port."""
    collector = Collector()

    def answer(request: Request) -> None:
        body = request.rfile.read(int(request.headers["content-length"]))
        request.send_response(collector.take(request.path, body))
        request.send_header("content-length", "0")
        request.end_headers()

    with http_serving(answer) as collector.url:
        yield collector

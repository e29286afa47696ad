"""The GenAI conventions' three histograms of a server, sent to an OpenTelemetry collector.

Names and buckets: https://github.com/open-telemetry/semantic-conventions-genai.
"""

from __future__ import annotations

import logging

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource

from cactus_actors.router.state.job_report import JobReport
from cactus_actors.router.telemetry.spans import attributes_of

DURATION_BUCKETS = [0.01 * 2**exponent for exponent in range(14)]
FIRST_TOKEN_BUCKETS = [
    0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0,
]  # fmt: skip
TOKEN_BUCKETS = [0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5]
LABELS = (
    "gen_ai.operation.name",
    "gen_ai.provider.name",
    "gen_ai.request.model",
    "gen_ai.response.model",
    "error.type",
)


class GenAIMetrics:
    """Counts jobs; the SDK's own thread sends the counts, by default once a minute."""

    def __init__(self, endpoint: str, resource: Resource, version: str) -> None:
        """`endpoint` is the collector's root, before /v1/metrics."""
        # The warning of the spans reports a collector that is away; some collectors take no metrics.
        logging.getLogger("opentelemetry.sdk.metrics").setLevel(logging.CRITICAL)
        exporter = OTLPMetricExporter(endpoint=f"{endpoint.rstrip('/')}/v1/metrics")
        reader = PeriodicExportingMetricReader(exporter)
        self._provider = MeterProvider([reader], resource, shutdown_on_exit=False)
        meter = self._provider.get_meter("cactus_actors", version)
        self._duration, self._first_token, self._token = (
            meter.create_histogram(f"gen_ai.server.{name}", "s", text, explicit_bucket_boundaries_advisory=buckets)
            for name, text, buckets in (
                ("request.duration", "from a job's arrival to its end", DURATION_BUCKETS),
                ("time_to_first_token", "from a job's arrival to its first token", FIRST_TOKEN_BUCKETS),
                ("time_per_output_token", "between two tokens after the first", TOKEN_BUCKETS),
            )
        )

    def record(self, report: JobReport, _: float, /) -> None:
        """Count a job; the time of its end is not used."""
        known = attributes_of(report)
        labels = {name: known[name] for name in LABELS if name in known}
        self._duration.record(report.total_s, labels)
        if report.first_token_s is not None and report.error is None:
            self._first_token.record(report.first_token_s, labels)
        if report.decode_s is not None and report.completion_tokens > 1 and report.error is None:
            self._token.record(report.decode_s / (report.completion_tokens - 1), labels)

    def dropped(self, count: int) -> None:
        """Do nothing: the spans count dropped reports."""

    def close(self) -> None:
        self._provider.shutdown()

"""Metrics of the gateway and of the service, in Prometheus' text format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from prometheus_client import (
    CONTENT_TYPE_PLAIN_0_0_4,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Metric,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.registry import Collector

from cactus_actors.gateway.metrics.request_fields import counted_name
from cactus_actors.gateway.metrics.service_metrics import families_of
from cactus_actors.protocol.messages import Status

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4.removesuffix("; charset=utf-8")
"""Responses add the character set."""
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)


class Metrics:
    """Counters and histograms of one gateway; touched by its event loop only.

    `num_open` and `num_streams` are requests and streams that are open now.
    """

    def __init__(self) -> None:
        # prometheus_client would add a series with the creation time of each counter: the start of this process.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        self._answers = self._counter("cactus_http_requests", "Requests by route and status.", "route", "code")
        self._ignored_fields = self._counter(
            "cactus_http_ignored_fields", "Unknown fields of requests; those of no known API count as `other`.", "field"
        )
        self._gone = self._counter("cactus_http_disconnects", "Requests whose client disconnected.")
        self._resumed = self._counter("cactus_http_streams_resumed", "Streams that were resumed.")
        self._request_seconds = self._seconds(
            "cactus_http_request_seconds", "Seconds from a request's headers to the end of its answer."
        )
        self._first_token_seconds = self._seconds(
            "cactus_http_time_to_first_token_seconds", "Seconds from a request's headers to its first token."
        )
        self._inter_token_seconds = self._seconds(
            "cactus_http_inter_token_latency_seconds", "Seconds between tokens of a stream."
        )
        self.num_open = 0
        self.num_streams = 0
        self._gauge("cactus_http_requests_open", "Open requests.", lambda: self.num_open)
        self._gauge("cactus_http_streams_open", "Open streams.", lambda: self.num_streams)

    def note_answer(self, route: str, status: int, seconds: float) -> None:
        """Count a completed request; `route` is a template, not the requested path."""
        self._answers.labels(route, str(status)).inc()
        self._request_seconds.observe(seconds)

    def note_ignored(self, fields: Iterable[str]) -> None:
        """Count ignored fields; clients choose the names, so all unknown ones count as `other`."""
        for field in fields:
            self._ignored_fields.labels(counted_name(field)).inc()

    def note_disconnect(self) -> None:
        """Count a client that left before its response."""
        self._gone.inc()

    def note_resumed(self) -> None:
        """Count a resumed stream."""
        self._resumed.inc()

    def note_first_token(self, seconds: float) -> None:
        """Record the seconds from a request to the first token of its stream."""
        self._first_token_seconds.observe(seconds)

    def note_tokens(self, num_tokens: int, seconds: float) -> None:
        """Record the seconds from the previous token to tokens that arrived together: one value for all of them."""
        self._inter_token_seconds.observe(seconds / num_tokens)

    def exposition(self, status: Status | None) -> bytes:
        """All metrics as text; without a `status` those of the service are `cactus_up` 0 only."""
        return generate_latest(_Together(self._registry, status))

    def _counter(self, name: str, meaning: str, *labels: str) -> Counter:
        return Counter(name, meaning, labels, registry=self._registry)

    def _seconds(self, name: str, meaning: str) -> Histogram:
        return Histogram(name, meaning, buckets=SECONDS, registry=self._registry)

    def _gauge(self, name: str, meaning: str, value: Callable[[], float]) -> None:
        Gauge(name, meaning, registry=self._registry).set_function(value)


class _Together(Collector):
    """The gateway's metrics and then the service's."""

    def __init__(self, registry: CollectorRegistry, status: Status | None) -> None:
        self._registry = registry
        self._status = status

    def collect(self) -> Iterator[Metric]:
        yield from self._registry.collect()
        yield from families_of(self._status)

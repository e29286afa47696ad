"""The reports of HTTP requests' jobs: a line in the job log, and a span below the caller's."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.http.otlp_collector import Collector, attributes, collecting
from tests.support.router.scripted_router import until
from tests.support.services.fake_worker_service import FakeWorkerService, fake_worker_service

SECRET_PROMPT = "my secret prompt"
TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


@dataclass
class Written:
    service: FakeWorkerService
    http: httpx.Client
    job_log: Path
    collector: Collector

    def ask(self, headers: dict[str, str] | None = None, **body: Any) -> dict[str, Any]:
        body = {"prompt": SECRET_PROMPT, "max_tokens": 3} | body
        response = self.http.post("/v1/completions", json=body, headers=headers or {})
        answer = response.json()
        assert isinstance(answer, dict)
        return answer

    def lines(self, count: int) -> list[dict[str, Any]]:
        """The last lines of the log, once it has this number of lines."""
        until(lambda: self.job_log.read_text().count("\n") >= count)
        *lines, _ = self.job_log.read_text().split("\n")  # the last one may be partially written
        return [json.loads(line) for line in lines]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Written]:
    directory = tmp_path_factory.mktemp("reports")
    environment = {"OTEL_BSP_SCHEDULE_DELAY": "100", "OTEL_METRIC_EXPORT_INTERVAL": "200"}  # milliseconds
    os.environ |= environment
    settings = {"job_log": str(directory / "jobs.jsonl")}
    try:
        with (
            collecting() as collector,
            fake_worker_service(directory, router_settings={**settings, "otlp_endpoint": collector.url}) as service,
            service.http() as http,
        ):
            yield Written(service, http, directory / "jobs.jsonl", collector)
    finally:
        for name in environment:
            del os.environ[name]


def test_each_job_has_a_log_line_and_a_child_span_of_the_caller_s(written: Written) -> None:
    earliest = time.time_ns()
    answer = written.ask({"traceparent": f"00-{TRACE}-{PARENT}-01"}, n=2)
    assert len(answer["choices"]) == 2
    lines, spans = written.lines(2), written.collector.jobs(2)
    latest = time.time_ns()
    for span in spans:
        assert (span.trace_id.hex(), span.parent_span_id.hex()) == (TRACE, PARENT)
        assert span.name == f"text_completion {lines[0]['model']}"
        told = attributes(span.attributes)
        [line] = [line for line in lines if line["job_id"] == told["gen_ai.response.id"]]
        assert told["gen_ai.operation.name"] == "text_completion"
        assert told["gen_ai.provider.name"] == "cactus"
        assert told["gen_ai.request.model"] == told["gen_ai.response.model"] == line["model"] != ""
        assert told["gen_ai.request.max_tokens"] == line["max_tokens"] == 3
        assert told["gen_ai.usage.input_tokens"] == line["prompt_tokens"] == len(SECRET_PROMPT) + 1
        assert told["gen_ai.usage.output_tokens"] == line["completion_tokens"] == 3
        assert told["gen_ai.response.finish_reasons"] == [line["finish_reason"]] == ["stop"]
        assert "error.type" not in told
        assert line["code"] is None
        assert line["trace_id"] == TRACE
        assert earliest - 10**7 <= span.start_time_unix_nano < span.end_time_unix_nano <= latest
        lasted_ms = (span.end_time_unix_nano - span.start_time_unix_nano) / 1e6
        assert lasted_ms == pytest.approx(line["dur_ms"], abs=0.01)
        phases = written.collector.phases(span)
        assert list(phases) == ["queue", "prefill", "decode"]
        assert phases["queue"][0] == span.start_time_unix_nano
        assert phases["queue"][1] == pytest.approx(phases["prefill"][0], abs=2)
        assert phases["prefill"][1] == pytest.approx(phases["decode"][0], abs=2)
        assert phases["decode"][1] <= span.end_time_unix_nano
    assert written.collector.resource["service.name"] == "cactus"


def test_a_failed_job_is_reported_with_its_error(written: Written) -> None:
    num_lines = len(written.job_log.read_text().splitlines())
    num_spans = len(written.collector.jobs(0))
    with written.service.client() as client:
        job_id = client.submit("no end", max_tokens=3, timeout_ms=1)
    line = written.lines(num_lines + 1)[-1]
    assert (line["job_id"], line["level"], line["code"]) == (job_id, "warning", "timeout_error")
    span = written.collector.jobs(num_spans + 1)[-1]
    assert attributes(span.attributes)["error.type"] == "timeout_error"
    assert span.status.code == span.status.STATUS_CODE_ERROR
    assert span.parent_span_id == b""


def test_an_invalid_traceparent_starts_a_new_trace(written: Written) -> None:
    num_spans = len(written.collector.jobs(0))
    for header in ("", "x" * 3000, f"00-{'0' * 32}-{PARENT}-01"):
        assert written.ask({"traceparent": header})["choices"]
    spans = written.collector.jobs(num_spans + 3)[num_spans:]
    assert {span.parent_span_id for span in spans} == {b""}
    assert len({span.trace_id for span in spans}) == 3


def test_the_same_request_in_another_trace_is_the_same_job(written: Written) -> None:
    headers = {"Idempotency-Key": "once"}
    first = written.ask(headers | {"traceparent": f"00-{TRACE}-{PARENT}-01"}, seed=1)
    again = written.ask(headers | {"traceparent": f"00-{TRACE[::-1]}-{PARENT}-01"}, seed=1)
    assert first["choices"] == again["choices"]
    assert first["id"] == again["id"]


def test_a_trace_that_is_not_recorded_is_not_sent(written: Written) -> None:
    unrecorded, recorded = "a" * 32, "b" * 32
    written.ask({"traceparent": f"00-{unrecorded}-{PARENT}-00"})
    written.ask({"traceparent": f"00-{recorded}-{PARENT}-01"})

    def told() -> set[str]:
        return {span.trace_id.hex() for span in written.collector.jobs(0)}

    until(lambda: recorded in told())
    assert unrecorded not in told()


def test_reports_contain_no_text_of_prompts_or_answers(written: Written) -> None:
    written.ask()
    written.collector.jobs(1)
    everything = written.job_log.read_bytes() + b"".join(written.collector.bodies)
    for word in (SECRET_PROMPT, "secret", "no end", " small"):
        assert word.encode() not in everything
    assert written.job_log.stat().st_mode & 0o777 == 0o600


def test_the_collector_gets_the_histograms_of_the_semantic_conventions(written: Written) -> None:
    written.ask()
    names = {
        "gen_ai.server.request.duration",
        "gen_ai.server.time_to_first_token",
        "gen_ai.server.time_per_output_token",
    }

    def told() -> bool:
        num_jobs = len(written.job_log.read_text().splitlines())
        duration = written.collector.metrics.get("gen_ai.server.request.duration")
        counts = [point.count for point in duration.histogram.data_points] if duration else []
        return sum(counts) == num_jobs

    until(told)
    assert written.collector.metrics.keys() == names
    for metric in written.collector.metrics.values():
        assert metric.unit == "s"
        for point in metric.histogram.data_points:
            labels = attributes(point.attributes)
            assert labels["gen_ai.operation.name"] == "text_completion"
            assert labels["gen_ai.provider.name"] == "cactus"
            assert "gen_ai.response.id" not in labels
    token = written.collector.metrics["gen_ai.server.time_per_output_token"].histogram.data_points[0]
    assert 0.02 < token.sum / token.count < 0.2  # the fake worker takes 0.03 s for each

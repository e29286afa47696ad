"""/metrics of a real router and a real gateway, parsed as Prometheus does."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from prometheus_client import Metric

from cactus_actors.client import AsyncClient
from cactus_actors.gateway.http.timeouts import GatewayTimeouts
from cactus_actors.gateway.metrics.gateway_metrics import Metrics
from cactus_actors.gateway.status_watcher import StatusWatcher
from cactus_actors.protocol.messages import Status
from tests.support.http.exposition import Families, families_in
from tests.support.router.scripted_router import until
from tests.support.services.fake_worker_service import STORY, fake_worker_service


def value_of(families: Families, sample: str, **labels: str) -> float:
    family = next(families[name] for name in (sample, sample.removesuffix("_total")) if name in families)
    [value] = [one.value for one in family.samples if one.name == sample and one.labels == labels]
    return value


def value_of_part(families: Families, name: str, part: str, **labels: str) -> float:
    [value] = [
        sample.value for sample in families[name].samples if sample.name == f"{name}_{part}" and sample.labels == labels
    ]
    return value


def buckets_of(family: Metric) -> list[tuple[float, float]]:
    return [(float(sample.labels["le"]), sample.value) for sample in family.samples if sample.name.endswith("_bucket")]


def test_every_family_is_well_formed(exposition: str, families: Families) -> None:
    assert all(name.startswith(("cactus_", "process_")) for name in families)
    assert {family.type for family in families.values()} <= {"counter", "gauge", "histogram"}
    assert all(family.documentation for family in families.values())
    series = [line.rsplit(" ", 1)[0] for line in exposition.splitlines() if not line.startswith("#")]
    assert len(series) == len(set(series))
    for family in families.values():
        if family.type == "counter":
            assert all(sample.name == f"{family.name}_total" for sample in family.samples)
        if family.type == "histogram":
            bounds, counts = zip(*buckets_of(family), strict=True)
            assert [*bounds] == sorted(bounds)
            assert bounds[-1] == float("inf")
            assert [*counts] == sorted(counts)


@pytest.mark.parametrize(
    ("name", "total"),
    [
        ("cactus_request_prompt_tokens", None),
        ("cactus_request_generation_tokens", len(STORY)),
        ("cactus_request_params_max_tokens", 50),
        ("cactus_time_to_first_token_seconds", None),
        ("cactus_e2e_request_latency_seconds", None),
        ("cactus_request_queue_time_seconds", None),
        ("cactus_request_prefill_time_seconds", None),
        ("cactus_request_decode_time_seconds", None),
    ],
)
def test_each_job_adds_one_value_to_each_histogram(families: Families, name: str, total: int | None) -> None:
    labels = {"model_name": "letters"}
    assert value_of_part(families, name, "count", **labels) == 1
    assert buckets_of(families[name])[-1][1] == 1
    total_told = value_of_part(families, name, "sum", **labels)
    assert total_told == total if total is not None else 0 < total_told < 10


def test_the_service_counts_its_work(families: Families) -> None:
    model = {"model_name": "letters"}
    assert value_of(families, "cactus_up") == 1
    assert value_of(families, "cactus_jobs_finished_total") == 1
    assert value_of(families, "cactus_request_success_total", finished_reason="stop", **model) == 1
    assert value_of(families, "cactus_request_success_total", finished_reason="error", **model) == 0
    assert value_of(families, "cactus_generation_tokens_total", **model) == len(STORY)
    assert value_of(families, "cactus_job_attempts_total", outcome="completed") == 1
    assert value_of(families, "cactus_zmq_rejected_frames_total", reason="worker_message") == 1
    assert value_of(families, "cactus_access_refused_total", reason="unknown_key") == 0
    assert value_of(families, "cactus_cloud_breaker_state", worker="cloud", state="half_open") == 1
    assert value_of(families, "cactus_cloud_breaker_state", worker="cloud", state="closed") == 0
    assert value_of(families, "cactus_worker_slots", worker="fake", kind="local") == 8
    assert value_of(families, "cactus_workers", kind="local", state="ready") == 1
    assert value_of(families, "cactus_kv_cache_usage_perc", worker="fake") == 0
    for idle in ("live_jobs", "live_dispatches", "subscribed_jobs", "arrivals"):
        assert value_of(families, f"cactus_{idle}") == 0
    assert value_of_part(families, "cactus_inter_token_latency_seconds", "count", **model) == len(STORY) - 1


def test_the_gateway_counts_its_work(families: Families) -> None:
    answered = {"route": "/v1/completions"}
    assert value_of(families, "cactus_http_requests_total", code="200", **answered) == 1
    assert value_of(families, "cactus_http_requests_total", code="400", **answered) == 1
    assert value_of(families, "cactus_http_ignored_fields_total", field="other") == 1
    assert value_of(families, "cactus_http_requests_open") == 1  # this one
    assert value_of_part(families, "cactus_http_time_to_first_token_seconds", "count") == 1
    assert value_of(families, "process_resident_memory_bytes") > 1e6


def test_an_unresponsive_service_is_reported_soon(tmp_path: Path) -> None:
    with (
        # The page asks for the totals too, and an answer that is on its way is shared.
        fake_worker_service(
            tmp_path, timeouts=GatewayTimeouts(totals_answer_s=0.2), gateway={"page": "off"}
        ) as service,
        service.http() as http,
    ):
        service.router.stop()
        families = families_in(http.get("/metrics").text)
        assert value_of(families, "cactus_up") == 0
        assert "cactus_jobs" not in families
        assert "cactus_http_requests" in families


def test_simultaneous_scrapes_share_one_status(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ask, tell = AsyncClient.status, StatusWatcher.with_totals
    asked: list[AsyncClient] = []
    told: list[StatusWatcher] = []
    may_answer = threading.Event()

    async def counted(status: StatusWatcher) -> Status | None:
        told.append(status)
        return await tell(status)

    async def slow(client: AsyncClient, *, with_totals: bool = False) -> Status:
        if with_totals:
            asked.append(client)
            await asyncio.to_thread(may_answer.wait, 60.0)
        return await ask(client, with_totals=with_totals)

    timeouts = GatewayTimeouts(totals_answer_s=60.0)
    without_page = {"page": "off"}  # it would ask, too
    running = fake_worker_service(tmp_path, timeouts=timeouts, gateway=without_page)
    with running as service, ThreadPoolExecutor(20) as pool:
        monkeypatch.setattr(AsyncClient, "status", slow)
        monkeypatch.setattr(StatusWatcher, "with_totals", counted)
        scrapes = [pool.submit(httpx.get, f"{service.url}/metrics", timeout=60.0) for _ in range(20)]
        try:
            until(lambda: len(told) == len(scrapes))
        finally:
            may_answer.set()
        assert {scrape.result().status_code for scrape in scrapes} == {200}
        assert len(asked) == 1


def test_unknown_field_names_are_counted_as_other() -> None:
    metrics = Metrics()
    metrics.note_ignored(["lora", "lora", "service_tier"])
    metrics.note_ignored(['a"b\nc\\d{e}', "é🌵", "\x00", "", "other", "(others)", "Lora"])
    for number in range(1000):
        metrics.note_ignored([f"{number}" + "x" * 1000])
    samples = families_in(metrics.exposition(None).decode())["cactus_http_ignored_fields"].samples
    counted = {sample.labels["field"]: sample.value for sample in samples}
    assert counted == {"lora": 2, "service_tier": 1, "other": 1007}

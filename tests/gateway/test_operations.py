"""The service for people and operators: live events, and who may scale, restart and drain."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from cactus_actors.gateway.http.api_keys import digest_of
from cactus_actors.gateway.http.timeouts import GatewayTimeouts
from tests.support.router.scripted_router import until
from tests.support.services.fake_worker_service import FakeWorkerService, fake_worker_service

ANN, BOSS = "ann-0123456789abcdef", "boss-0123456789abcdef"
MESSAGES = [{"role": "user", "content": "What is 2+2?"}]
CHAT = "/v1/chat/completions"


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeWorkerService]:
    gateway = {"key_digests": [digest_of(ANN), digest_of(BOSS)], "operator_digests": [digest_of(BOSS)]}
    timeouts = GatewayTimeouts(sample_interval_s=0.05)
    with fake_worker_service(tmp_path_factory.mktemp("state"), gateway=gateway, timeouts=timeouts) as service:
        yield service


def events_of(http: httpx.Client, key: str, count: int = 2) -> list[dict[str, Any]]:
    """The first events; the last of them has a state."""
    found: list[dict[str, Any]] = []
    with http.stream("GET", "/page/service", headers=bearer(key), timeout=60) as response:
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/event-stream")
        for line in response.iter_lines():
            if line.startswith("data: "):
                found.append(json.loads(line.removeprefix("data: ")))
                if len(found) >= count and "workers" in found[-1]["state"]:
                    return found
    raise AssertionError("the stream ended")


def test_the_state_is_live_and_has_the_hour_before(http: httpx.Client) -> None:
    asked = http.post(CHAT, json={"messages": MESSAGES}, headers=bearer(ANN))
    assert asked.status_code == 200
    events_of(http, ANN)
    events = events_of(http, ANN, 3)
    first, last = events[0], events[-1]
    assert len(first["samples"]) > 1
    assert [len(event["samples"]) for event in events[1:]] == [1, 1]
    assert all(len(sample) == len(first["fields"]) for sample in first["samples"])
    at = [sample[0] for event in events for sample in event["samples"]]
    assert at == sorted(at)
    [worker] = last["state"]["workers"]
    assert (worker["worker_id"], worker["kind"], worker["num_slots"]) == ("fake", "local", 8)
    assert last["state"]["jobs"]["finished"] >= 1
    assert sum(last["state"]["first_token_seconds"]["counts"]) >= 1
    assert "spent" not in worker


def test_only_operators_see_whose_jobs_wait_and_whose_requests_failed(
    service: FakeWorkerService, http: httpx.Client
) -> None:
    refused = http.post(CHAT, json={"messages": 5}, headers=bearer(ANN))
    assert refused.status_code == 400
    service.worker.is_held = True
    try:
        with service.client() as client:
            client.submit("a", user="eve")
            until(lambda: service.worker.num_running > 0)
            theirs, boss = events_of(http, ANN)[-1]["state"], events_of(http, BOSS)[-1]["state"]
    finally:
        service.worker.is_held = False
    assert "tenants" not in theirs
    assert not theirs["is_operator"]
    assert boss["tenants"] == [{"name": "eve", "waiting": 0, "running": 1, "is_own": False}]
    [told] = [row for row in theirs["errors"] if row["path"] == CHAT]
    assert told["message"] == refused.json()["error"]["message"]
    [seen] = [row for row in boss["errors"] if row["path"] == CHAT]
    assert (seen["status"], seen["message"]) == (400, "")


def test_only_an_operator_scales_restarts_and_drains(service: FakeWorkerService, http: httpx.Client) -> None:
    asked: dict[str, dict[str, Any]] = {"scale": {"num_workers": 3}, "restart": {}, "drain": {"node": "elsewhere"}}
    with service.client() as client:
        before = client.status().desired_workers
        for name, body in asked.items():
            refused = http.post(f"/v1/service/{name}", json=body, headers=bearer(ANN))
            assert (refused.status_code, refused.json()["error"]["type"]) == (403, "permission_error")
            foreign = bearer(BOSS) | {"origin": "http://evil.example"}
            assert http.post(f"/v1/service/{name}", json=body, headers=foreign).status_code == 403
        assert client.status().desired_workers == before
        scaled = http.post("/v1/service/scale", json=asked["scale"], headers=bearer(BOSS))
        assert scaled.json() == {"num_workers": 3}
        assert client.status().desired_workers == 3
        until(lambda: any(one["num_workers"] == 3 for one in events_of(http, BOSS)[-1]["state"]["decisions"]))
        http.post("/v1/service/scale", json={"num_workers": before}, headers=bearer(BOSS))
    assert http.post("/v1/service/restart", json={}, headers=bearer(BOSS)).json() == {"num_workers": 1}
    unknown = http.post("/v1/service/drain", json=asked["drain"], headers=bearer(BOSS))
    assert unknown.status_code == 400
    assert "elsewhere" in unknown.json()["error"]["message"]


@pytest.mark.parametrize("body", [{}, {"num_workers": -1}, {"num_workers": "many"}, {"num_workers": 10**9}])
def test_a_number_of_workers_that_no_service_has_is_refused(http: httpx.Client, body: dict[str, Any]) -> None:
    refused = http.post("/v1/service/scale", json=body, headers=bearer(BOSS))
    assert (refused.status_code, refused.json()["error"]["param"]) == (400, "num_workers")


def test_an_open_page_does_not_delay_the_end_of_the_service(service: FakeWorkerService, http: httpx.Client) -> None:
    with http.stream("GET", "/page/service", headers=bearer(ANN), timeout=60) as response:
        lines = response.iter_lines()
        next(lines)
        assert service.gateway is not None
        service.gateway.drain()
        for _ in lines:
            pass
    until(service.gateway.drain)

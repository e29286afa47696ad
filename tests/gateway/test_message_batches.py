"""Anthropic's message batches: many messages in one request, on top of prompt files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from cactus_actors.gateway.http.api_keys import digest_of
from cactus_actors.gateway.http.timeouts import GatewayTimeouts
from tests.support.http.batches import create, ended, line, lines_of
from tests.support.router.scripted_router import until
from tests.support.services.fake_worker_service import STORY, fake_worker_service

BATCHES = "/v1/messages/batches"
TEXT = "".join(STORY)
PARAMS: dict[str, Any] = {"model": "m", "max_tokens": 100, "messages": [{"role": "user", "content": "Once"}]}


def asked(custom_id: str, **changes: Any) -> dict[str, Any]:
    return {"custom_id": custom_id, "params": PARAMS | changes}


def created(http: httpx.Client, *requests: dict[str, Any]) -> str:
    response = http.post(BATCHES, json={"requests": requests})
    assert response.status_code == 200, response.text
    batch_id: str = response.json()["id"]
    return batch_id


def finished(http: httpx.Client, batch_id: str) -> dict[str, Any]:
    batch: dict[str, Any] = {}

    def has_ended() -> bool:
        nonlocal batch
        batch = http.get(f"{BATCHES}/{batch_id}").json()
        return bool(batch["processing_status"] == "ended")

    until(has_ended)
    return batch


def results(http: httpx.Client, batch: dict[str, Any]) -> dict[str, dict[str, Any]]:
    lines = [json.loads(written) for written in http.get(batch["results_url"]).text.splitlines()]
    assert len({one["custom_id"] for one in lines}) == len(lines)
    return {one["custom_id"]: one["result"] for one in lines}


def counts(**given: int) -> dict[str, int]:
    return {name: given.get(name, 0) for name in ("processing", "succeeded", "errored", "canceled", "expired")}


def test_a_batch_of_messages_is_run_to_its_end(http: httpx.Client) -> None:
    requests = [asked("one"), asked("two", system="Be brief."), asked("hot", temperature=9), asked("s", stream=True)]
    begun = http.post(BATCHES, json={"requests": requests}).json()
    assert (begun["type"], begun["processing_status"], begun["results_url"]) == ("message_batch", "in_progress", None)
    assert begun["request_counts"] == counts(processing=4)
    batch = finished(http, begun["id"])
    assert batch["request_counts"] == counts(succeeded=2, errored=2)
    assert batch["created_at"] <= batch["ended_at"] < batch["expires_at"]
    result = results(http, batch)
    assert {name: one["type"] for name, one in result.items()} == {
        "one": "succeeded",
        "two": "succeeded",
        "hot": "errored",
        "s": "errored",
    }
    message = result["one"]["message"]
    assert message["content"] == [{"type": "text", "text": TEXT}]
    assert (message["type"], message["stop_reason"]) == ("message", "end_turn")
    error = result["hot"]["error"]
    assert (error["type"], error["error"]["type"]) == ("error", "invalid_request_error")
    assert error["error"]["param"] == "temperature"


def test_a_batched_message_equals_the_one_asked_alone(http: httpx.Client) -> None:
    alone = http.post("/v1/messages", json=PARAMS | {"seed": 3}).json()
    [result] = results(http, finished(http, created(http, asked("a", seed=3)))).values()
    same = ("type", "role", "model", "content", "stop_reason", "stop_sequence")
    assert {name: result["message"][name] for name in same} == {name: alone[name] for name in same}


def test_batches_of_messages_are_listed_apart_in_pages(http: httpx.Client) -> None:
    ids = [created(http, asked("a")) for _ in range(3)][::-1]
    for batch_id in ids:
        finished(http, batch_id)
    first = http.get(BATCHES, params={"limit": 2}).json()
    assert ([one["id"] for one in first["data"]], first["has_more"]) == (ids[:2], True)
    assert (first["first_id"], first["last_id"]) == (ids[0], ids[1])
    after = http.get(BATCHES, params={"after_id": ids[1], "limit": 1}).json()
    assert [one["id"] for one in after["data"]] == [ids[2]]
    before = http.get(BATCHES, params={"before_id": ids[2], "limit": 1}).json()
    assert ([one["id"] for one in before["data"]], before["has_more"]) == ([ids[1]], True)
    assert not {*ids} & {one["id"] for one in http.get("/v1/batches").json()["data"]}
    unknown = http.get(BATCHES, params={"after_id": "msgbatch_0"})
    assert (unknown.status_code, unknown.json()["error"]["param"]) == (400, "after_id")


def test_a_deleted_batch_takes_its_files_along(http: httpx.Client) -> None:
    before = {one["id"] for one in http.get("/v1/files").json()["data"]}
    batch_id = created(http, asked("a"), asked("b", temperature=9))
    finished(http, batch_id)
    files = {one["id"] for one in http.get("/v1/files").json()["data"]} - before
    assert len(files) == 3
    for file_id in files:
        assert http.delete(f"/v1/files/{file_id}").status_code == 400
    assert http.delete(f"{BATCHES}/{batch_id}").json() == {"id": batch_id, "type": "message_batch_deleted"}
    assert not files & {one["id"] for one in http.get("/v1/files").json()["data"]}
    for call in (http.get, http.delete):
        gone = call(f"{BATCHES}/{batch_id}")
        assert (gone.status_code, gone.json()["error"]["type"]) == (404, "not_found_error")


@pytest.mark.parametrize(
    ("body", "status", "param"),
    [
        ({}, 400, "requests"),
        ({"requests": []}, 400, "requests"),
        ({"requests": [{"custom_id": "a"}]}, 400, "requests[0].params"),
        ({"requests": [{"custom_id": 1, "params": {}}]}, 400, "requests[0].custom_id"),
        ({"requests": [asked("a"), asked("")]}, 400, "requests[1].custom_id"),
        ({"requests": [asked("a"), asked("b"), asked("a")]}, 400, "requests[2].custom_id"),
        ({"requests": [asked("a" * 513)]}, 400, "requests[0].custom_id"),
        ({"requests": [asked("line\nbreak")]}, 400, "requests[0].custom_id"),
    ],
)
def test_a_refused_batch_leaves_nothing(http: httpx.Client, body: dict[str, Any], status: int, param: str) -> None:
    before = [http.get(path).json()["data"] for path in (BATCHES, "/v1/files")]
    refused = http.post(BATCHES, json=body)
    assert (refused.status_code, refused.json()["error"]["param"]) == (status, param)
    assert refused.json()["type"] == "error"
    assert [http.get(path).json()["data"] for path in (BATCHES, "/v1/files")] == before


def test_a_cancelled_batch_tells_what_never_ran(tmp_path: Path) -> None:
    with (
        fake_worker_service(tmp_path, step_s=0.02, gateway={"batch_in_flight": 2}) as service,
        service.http() as http,
    ):
        batch_id = created(http, *(asked(str(number)) for number in range(200)))
        until(lambda: len(service.worker.dispatches) > 10)
        early = http.get(f"{BATCHES}/{batch_id}/results")
        assert (early.status_code, early.json()["error"]["type"]) == (400, "invalid_request_error")
        assert http.delete(f"{BATCHES}/{batch_id}").status_code == 400
        cancelling = http.post(f"{BATCHES}/{batch_id}/cancel").json()
        assert (cancelling["processing_status"], cancelling["results_url"]) == ("canceling", None)
        assert cancelling["cancel_initiated_at"] is not None
        batch = finished(http, batch_id)
        kinds = [one["type"] for one in results(http, batch).values()]
        assert len(kinds) == 200
        assert 0 < kinds.count("succeeded") < 200
        told = counts(succeeded=kinds.count("succeeded"), canceled=kinds.count("canceled"))
        assert batch["request_counts"] == told


def test_an_expired_batch_tells_what_never_ran_also_after_a_restart(tmp_path: Path) -> None:
    timeouts = GatewayTimeouts(batch_window_s=3)
    with fake_worker_service(tmp_path, timeouts=timeouts, step_s=0.05, gateway={"batch_in_flight": 2}) as service:
        with service.http() as http:
            batch_id = created(http, *(asked(str(number)) for number in range(200)), asked("hot", temperature=9))
            until(lambda: len(service.worker.dispatches) > 10)
        service.stop_gateway()
        service.start_gateway()
        with service.http() as http:
            batch = finished(http, batch_id)
            kinds = [one["type"] for one in results(http, batch).values()]
        assert len(kinds) == 201
        told = counts(**{kind: kinds.count(kind) for kind in ("succeeded", "errored", "expired")})
        assert batch["request_counts"] == told
        assert told["succeeded"] > 0 < told["expired"]


def test_a_key_sees_its_own_batches_alone(tmp_path: Path) -> None:
    keys = {"key_digests": [digest_of("one"), digest_of("two")]}
    with fake_worker_service(tmp_path, gateway=keys) as service, service.http() as http:
        mine, other = {"x-api-key": "one"}, {"x-api-key": "two"}
        batch_id = http.post(BATCHES, json={"requests": [asked("a")]}, headers=mine).json()["id"]
        assert http.get(f"{BATCHES}/{batch_id}", headers=mine).status_code == 200
        for path in (batch_id, f"{batch_id}/results"):
            assert http.get(f"{BATCHES}/{path}", headers=other).status_code == 404
        assert http.post(f"{BATCHES}/{batch_id}/cancel", headers=other).status_code == 404
        assert http.get(BATCHES, headers=other).json()["data"] == []
        salted = {"requests": [asked("a", cache_salt="x")]}
        refused = http.post(BATCHES, json=salted, headers=mine)
        assert (refused.status_code, refused.json()["error"]["param"]) == (400, "requests[0].params.cache_salt")


def test_an_uploaded_file_may_have_messages(http: httpx.Client) -> None:
    content = line("a", "/v1/messages", **PARAMS) + line("b", "/v1/messages", **PARAMS | {"max_tokens": None})
    batch = ended(http, create(http, content, "/v1/messages"))
    assert batch["request_counts"] == {"total": 2, "completed": 1, "failed": 1}
    [answer] = lines_of(http, batch["output_file_id"]).values()
    assert answer["response"]["body"]["content"] == [{"type": "text", "text": TEXT}]
    [failure] = lines_of(http, batch["error_file_id"]).values()
    assert failure["response"]["body"]["error"]["param"] == "max_tokens"
    assert http.get(f"/v1/messages/batches/{batch['id']}").status_code == 404

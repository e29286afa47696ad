"""OpenAI's Responses over HTTP: bodies, events with their numbers, what is stored of them, and errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from cactus_actors.gateway.http.api_keys import digest_of
from cactus_actors.protocol.error_info import ErrorInfo
from tests.support.router.scripted_router import until
from tests.support.services.fake_worker_service import STORY, FakeWorkerService, fake_worker_service

BODY: dict[str, Any] = {"model": "m", "input": "Once"}
TEXT = "".join(STORY)
ABSENT = f"resp_{'0' * 24}"


def events_of(text: str) -> list[dict[str, Any]]:
    """The events of a stream, whose names are their types, and whose numbers have no gap."""
    events = []
    for frame in text.removesuffix("\n\n").split("\n\n"):
        fields = dict(line.split(": ", 1) for line in frame.split("\n"))
        events.append(json.loads(fields["data"]))
        assert fields == {"event": events[-1]["type"], "data": fields["data"]}
    first = events[0]["sequence_number"]
    assert [event["sequence_number"] for event in events] == [*range(first, first + len(events))]
    return events


def answered(http: httpx.Client, **fields: Any) -> dict[str, Any]:
    """The response to a body with these fields."""
    response = http.post("/v1/responses", json=BODY | fields)
    assert response.status_code == 200, response.text
    body: dict[str, Any] = response.json()
    return body


def test_a_response_is_stored(http: httpx.Client) -> None:
    created = http.post("/v1/responses", json=BODY)
    body = created.json()
    assert body["id"].startswith("resp_")
    assert (body["object"], body["status"], body["model"], body["error"]) == ("response", "completed", "m", None)
    [message] = body["output"]
    assert message["id"].startswith("msg_")
    assert (message["type"], message["role"], message["status"]) == ("message", "assistant", "completed")
    assert message["content"] == [{"type": "output_text", "text": TEXT, "annotations": [], "logprobs": []}]
    usage = body["usage"]
    assert usage["output_tokens"] == len(STORY)
    assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"]
    assert body["handoff"]["status"] == "none"
    assert body["created_at"] <= body["completed_at"]
    assert http.get(f"/v1/responses/{body['id']}").content == created.content
    state = http.get(f"/v1/requests/{body['id']}").json()
    assert state["choices"][0]["result"]["text"] == TEXT


def test_nothing_is_kept_of_a_response_that_is_not_stored(http: httpx.Client) -> None:
    body = answered(http, store=False)
    assert body["output"][0]["content"][0]["text"] == TEXT
    missing = http.get(f"/v1/responses/{body['id']}")
    assert (missing.status_code, missing.json()["error"]["type"]) == (404, "resource_not_found_error")
    streamed = events_of(http.post("/v1/responses", json=BODY | {"store": False, "stream": True}).text)
    assert streamed[-1]["type"] == "response.completed"
    assert http.get(f"/v1/responses/{streamed[-1]['response']['id']}").status_code == 404


def test_a_response_that_reached_its_limit_is_incomplete(http: httpx.Client) -> None:
    body = answered(http, max_output_tokens=2)
    assert (body["status"], body["incomplete_details"]) == ("incomplete", {"reason": "max_output_tokens"})
    assert (body["output"][0]["status"], body["completed_at"]) == ("incomplete", None)
    events = events_of(http.get(f"/v1/responses/{body['id']}", params={"stream": "true"}).text)
    assert events[-1] == {
        "type": "response.incomplete",
        "response": body,
        "sequence_number": len(events) - 1,
    }


def test_the_events_of_a_response_have_the_documented_order(http: httpx.Client) -> None:
    response = http.post("/v1/responses", json=BODY | {"stream": True})
    assert response.headers["content-type"].startswith("text/event-stream")
    events = events_of(response.text)
    assert [event["type"].removeprefix("response.") for event in events] == [
        *("created", "in_progress", "output_item.added", "content_part.added"),
        *["output_text.delta"] * len(STORY),
        *("output_text.done", "content_part.done", "output_item.done", "completed"),
    ]
    assert events[0]["sequence_number"] == 0
    assert [event["delta"] for event in events if "delta" in event] == [*STORY]
    body = events[-1]["response"]
    created = events[0]["response"]
    assert (created["status"], created["output"], created["usage"]) == ("in_progress", [], None)
    assert {name for name in body if created.get(name, ()) != body[name]} >= {"status", "output", "usage"}
    assert events[-2]["item"] == body["output"][0]
    assert http.get(f"/v1/responses/{body['id']}").json() == body
    path = f"/v1/responses/{body['id']}"
    assert http.get(path, params={"stream": "true"}).text == response.text
    rest = http.get(path, params={"stream": "true", "starting_after": 5}).text
    assert response.text.endswith(rest)
    assert events_of(rest) == events[6:]


def test_a_response_continues_an_earlier_one(http: httpx.Client, service: FakeWorkerService) -> None:
    first = answered(http, instructions="Be brief.")
    second = answered(http, input="More", previous_response_id=first["id"])
    assert (second["previous_response_id"], second["instructions"]) == (first["id"], None)
    items = http.get(f"/v1/responses/{second['id']}/input_items", params={"order": "asc"}).json()
    assert [(item["role"], item["content"][0]["text"]) for item in items["data"]] == [
        ("user", "Once"),
        ("assistant", TEXT),
        ("user", "More"),
    ]
    assert (items["object"], items["has_more"]) == ("list", False)
    assert (items["first_id"], items["last_id"]) == (items["data"][0]["id"], items["data"][2]["id"])
    newest = http.get(f"/v1/responses/{second['id']}/input_items", params={"limit": 1}).json()
    assert (newest["data"], newest["has_more"]) == ([items["data"][2]], True)
    after = http.get(f"/v1/responses/{second['id']}/input_items", params={"after": newest["last_id"]}).json()
    assert after["data"] == [items["data"][1], items["data"][0]]
    reference = [{"type": "item_reference", "id": first["output"][0]["id"]}, {"role": "user", "content": "More"}]
    [*turns] = [{"role": "user", "content": "Once"}, *reference]
    again = answered(http, input=turns)
    counted = [http.post("/v1/responses/input_tokens", json={"model": "m", "input": turns}).json()]
    assert counted == [{"object": "response.input_tokens", "input_tokens": again["usage"]["input_tokens"]}]
    assert again["usage"]["input_tokens"] == second["usage"]["input_tokens"]


def test_a_deleted_response_is_gone(http: httpx.Client) -> None:
    path = f"/v1/responses/{answered(http)['id']}"
    assert http.delete(path).json() == {"id": path.rpartition("/")[2], "object": "response", "deleted": True}
    for method, at in (("GET", path), ("DELETE", path), ("GET", f"{path}/input_items"), ("POST", f"{path}/cancel")):
        assert http.request(method, at).status_code == 404
    gone = http.post("/v1/responses", json=BODY | {"previous_response_id": path.rpartition("/")[2]})
    assert (gone.status_code, gone.json()["error"]["param"]) == (404, "previous_response_id")


def test_a_response_in_the_background(http: httpx.Client, service: FakeWorkerService) -> None:
    service.worker.is_held = True
    try:
        body = answered(http, background=True)
        assert (body["status"], body["output"], body["background"]) == ("queued", [], True)
        path = f"/v1/responses/{body['id']}"
        until(lambda: http.get(path).json()["status"] == "in_progress")
        early = http.post("/v1/responses", json=BODY | {"previous_response_id": body["id"]})
        assert (early.status_code, early.json()["error"]["param"]) == (400, "previous_response_id")
    finally:
        service.worker.is_held = False
    until(lambda: http.get(path).json()["status"] == "completed")
    ended = http.get(path).json()
    assert ended["output"][0]["content"][0]["text"] == TEXT
    events = events_of(http.get(path, params={"stream": "true"}).text)
    assert [event["type"] for event in events[:3]] == ["response.created", "response.queued", "response.in_progress"]
    assert (events[0]["response"], events[-1]["response"]) == (body, ended)


def test_a_reader_of_a_background_stream_may_leave_and_return(http: httpx.Client, service: FakeWorkerService) -> None:
    service.worker.pauses_at = 2
    try:
        with http.stream("POST", "/v1/responses", json=BODY | {"background": True, "stream": True}) as response:
            seen = ""
            for piece in response.iter_text():
                seen += piece
                if '"output_text.delta"' in seen.replace("response.", "") and seen.endswith("\n\n"):
                    break
    finally:
        service.worker.pauses_at = None
    events = events_of(seen)
    path = f"/v1/responses/{events[0]['response']['id']}"
    after = events[-1]["sequence_number"]
    rest = http.get(path, params={"stream": "true", "starting_after": after}).text
    assert events_of(rest)[-1]["type"] == "response.completed"
    assert http.get(path, params={"stream": "true"}).text == seen + rest


def test_the_next_gateway_has_the_answer_of_the_last_one(tmp_path: Path) -> None:
    with fake_worker_service(tmp_path, pauses_at=2) as service:
        with service.http() as http:
            path = f"/v1/responses/{answered(http, background=True)['id']}"
        service.stop_gateway()
        service.worker.pauses_at = None
        service.start_gateway()
        with service.http() as http:
            until(lambda: http.get(path).json()["status"] == "completed")
            assert http.get(path).json()["output"][0]["content"][0]["text"] == TEXT
        assert len(service.worker.dispatches) == 1


def test_a_cancelled_response_keeps_what_was_answered(http: httpx.Client, service: FakeWorkerService) -> None:
    service.worker.pauses_at = 2
    try:
        path = f"/v1/responses/{answered(http, background=True)['id']}"
        job = path.removeprefix("/v1/responses/")
        until(lambda: http.get(f"/v1/requests/{job}").json()["choices"][0].get("length") == 2)
        body = http.post(f"{path}/cancel").json()
    finally:
        service.worker.pauses_at = None
    assert body["status"] == "cancelled"
    [message] = body["output"]
    assert (message["status"], message["content"][0]["text"]) == ("incomplete", "".join(STORY[:2]))
    assert http.get(path).json() == http.post(f"{path}/cancel").json() == body
    events = events_of(http.get(path, params={"stream": "true"}).text)
    assert (events[-1]["type"], events[-1]["response"]) == ("response.incomplete", body)


def test_a_reader_who_leaves_cancels_the_answer(http: httpx.Client, service: FakeWorkerService) -> None:
    service.worker.pauses_at = 1
    try:
        with http.stream("POST", "/v1/responses", json=BODY | {"stream": True}) as response:
            first = next(response.iter_lines())
            assert first == "event: response.created"
            name = response.headers["x-request-id"]
        until(lambda: http.get(f"/v1/responses/resp_{name}").json()["status"] == "cancelled")
    finally:
        service.worker.pauses_at = None


def test_a_failed_job_is_a_failed_response(http: httpx.Client, service: FakeWorkerService) -> None:
    service.worker.failure = ErrorInfo(type="server_error", status=500, message="it broke")
    try:
        text = http.post("/v1/responses", json=BODY | {"stream": True}).text
        events = events_of(text)
        whole = http.post("/v1/responses", json=BODY)
    finally:
        service.worker.failure = None
    assert (whole.status_code, whole.json()["error"]["message"]) == (500, "it broke")
    assert events[-1]["type"] == "response.failed"
    body = events[-1]["response"]
    assert (body["status"], body["error"]["code"], body["error"]["message"]) == ("failed", "server_error", "it broke")
    assert body["output"][0]["content"][0]["text"] == "".join(STORY[:2])
    path = f"/v1/responses/{body['id']}"
    assert http.get(path).json() == body
    assert http.get(path, params={"stream": "true"}).text == text
    stored = f"/v1/responses/resp_{whole.headers['x-request-id']}"
    assert http.get(stored).json()["status"] == "failed"


def test_a_key_finds_its_response_again(http: httpx.Client, service: FakeWorkerService) -> None:
    headers = {"idempotency-key": "a response"}
    num_dispatches = len(service.worker.dispatches)
    first = http.post("/v1/responses", json=BODY, headers=headers)
    again = http.post("/v1/responses", json=BODY, headers=headers)
    assert first.content == again.content
    events = events_of(http.post("/v1/responses", json=BODY | {"stream": True}, headers=headers).text)
    assert events[-1]["response"] == first.json()
    assert len(service.worker.dispatches) == num_dispatches + 1
    other = http.post("/v1/responses", json=BODY | {"input": "Twice"}, headers=headers)
    assert (other.status_code, other.json()["error"]["param"]) == (409, "Idempotency-Key")
    resumed = http.post("/v1/responses", json=BODY, headers={"last-event-id": f"{first.headers['x-request-id']}:1.1"})
    assert (resumed.status_code, resumed.json()["error"]["param"]) == (400, "Last-Event-ID")


@pytest.mark.parametrize(
    ("fields", "status", "param"),
    [
        ({"input": None}, 400, "input"),
        ({"input": []}, 400, "input"),
        ({"input": [{"role": "user", "content": 3}]}, 400, "input[0].content"),
        ({"input": [{"type": "web_search_call", "id": "1"}]}, 400, "input[0].type"),
        ({"input": [{"role": "user", "content": [{"type": "input_file"}]}]}, 400, "input[0].content[0].type"),
        ({"input": [{"type": "item_reference", "id": "msg_x"}]}, 404, "input"),
        ({"previous_response_id": ABSENT}, 404, "previous_response_id"),
        ({"conversation": "conv_1"}, 400, "conversation"),
        ({"prompt": {"id": "pmpt_1"}}, 400, "prompt"),
        ({"truncation": "auto"}, 400, "truncation"),
        ({"background": True, "store": False}, 400, "background"),
        ({"include": ["everything"]}, 400, "include"),
        ({"tools": [{"type": "web_search"}]}, 400, "tools[0].type"),
        ({"tools": [{"type": "function", "name": "a b"}]}, 400, "tools[0].name"),
        ({"tool_choice": {"type": "mcp"}}, 400, "tool_choice.type"),
        ({"tool_choice": {"type": "function"}}, 400, "tool_choice.name"),
        ({"tool_choice": {"type": "allowed_tools", "mode": "none"}}, 400, "tool_choice"),
        ({"tool_choice": {"type": "function", "name": "f"}}, 400, "tool_choice"),
        ({"text": {"format": {"type": "json_schema", "name": "x"}}}, 400, "text.format.schema"),
        ({"reasoning": {"effort": "much"}}, 400, "reasoning.effort"),
        ({"max_output_tokens": -5}, 400, "max_output_tokens"),
        ({"max_tool_calls": 2**64}, 400, "max_tool_calls"),
        ({"max_tool_calls": -1}, 400, "max_tool_calls"),
        ({"top_logprobs": 21}, 400, "top_logprobs"),
        ({"input": [{"role": "user", "content": "x"}] * 100_000}, 400, "input"),
        ({"temperature": 9}, 400, "temperature"),
        ({"metadata": {"k" * 65: "v"}}, 400, "metadata"),
        ({"model": "x" * 2000}, 404, "model"),
    ],
)
def test_errors_name_the_field(http: httpx.Client, fields: dict[str, Any], status: int, param: str) -> None:
    response = http.post("/v1/responses", json=BODY | fields)
    assert (response.status_code, response.json()["error"]["param"]) == (status, param)


def test_queries_are_checked(http: httpx.Client) -> None:
    path = f"/v1/responses/{answered(http)['id']}"
    for at, params, param in (
        (path, {"stream": "maybe"}, "stream"),
        (path, {"stream": "true", "starting_after": "x"}, "starting_after"),
        (f"{path}/input_items", {"order": "up"}, "order"),
        (f"{path}/input_items", {"limit": "0"}, "limit"),
    ):
        response = http.get(at, params=params)
        assert (response.status_code, response.json()["error"]["param"]) == (400, param)
    assert http.get(f"/v1/responses/{ABSENT}").status_code == 404


def test_another_key_sees_none_of_it(tmp_path: Path) -> None:
    keys = {"key_digests": [digest_of("first"), digest_of("second")]}
    first, second = ({"authorization": f"Bearer {name}"} for name in ("first", "second"))
    with fake_worker_service(tmp_path, gateway=keys) as service, service.http() as http:
        body = http.post("/v1/responses", json=BODY, headers=first).json()
        path = f"/v1/responses/{body['id']}"
        for method, at in (("GET", path), ("GET", f"{path}/input_items"), ("POST", f"{path}/cancel"), ("DELETE", path)):
            assert http.request(method, at, headers=second).status_code == 404
        for fields in (
            {"previous_response_id": body["id"]},
            {"input": [{"type": "item_reference", "id": body["output"][0]["id"]}]},
        ):
            assert http.post("/v1/responses", json=BODY | fields, headers=second).status_code == 404
        assert http.get(path, headers=first).json() == body


def test_a_service_may_store_none(tmp_path: Path) -> None:
    with fake_worker_service(tmp_path, gateway={"max_responses": 0}) as service, service.http() as http:
        body = answered(http)
        assert (body["status"], http.get(f"/v1/responses/{body['id']}").status_code) == ("completed", 404)
        later = http.post("/v1/responses", json=BODY | {"background": True})
        assert (later.status_code, later.json()["error"]["param"]) == (400, "background")


def test_the_oldest_responses_give_way(tmp_path: Path) -> None:
    with fake_worker_service(tmp_path, gateway={"max_responses": 2}) as service, service.http() as http:
        paths = [f"/v1/responses/{answered(http)['id']}" for _ in range(3)]
        assert [http.get(path).status_code for path in paths] == [404, 200, 200]
        bodies = [http.get(path).content for path in paths[1:]]
        service.stop_gateway()
        service.start_gateway()
    with fake_worker_service(tmp_path) as service, service.http() as http:
        assert [http.get(path).content for path in paths[1:]] == bodies

"""Anthropic's Messages over HTTP: bodies, events in their order, errors and keys in its forms."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from cactus_actors.gateway.http.api_keys import digest_of
from cactus_actors.protocol.error_info import ErrorInfo
from tests.support.services.fake_worker_service import STORY, FakeWorkerService, fake_worker_service

BODY: dict[str, Any] = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Once"}]}


def events_of(text: str) -> list[tuple[str, dict[str, Any]]]:
    """The named events of a stream."""
    events = []
    for frame in text.removesuffix("\n\n").split("\n\n"):
        fields = dict(line.split(": ", 1) for line in frame.split("\n"))
        events.append((fields["event"], json.loads(fields["data"])))
    return events


def test_a_message(http: httpx.Client) -> None:
    message = http.post("/v1/messages", json=BODY, headers={"anthropic-version": "2023-06-01"}).json()
    assert message["id"].startswith("msg_")
    assert (message["type"], message["role"], message["model"]) == ("message", "assistant", "m")
    assert message["content"] == [{"type": "text", "text": "".join(STORY)}]
    assert (message["stop_reason"], message["stop_sequence"]) == ("end_turn", None)
    assert message["usage"]["output_tokens"] == len(STORY)
    assert message["usage"]["input_tokens"] + message["usage"]["cache_read_input_tokens"] > 0
    assert message["handoff"]["status"] == "none"
    state = http.get(f"/v1/requests/{message['id']}").json()
    assert state["choices"][0]["result"]["text"] == "".join(STORY)


def test_reasons_of_the_end(http: httpx.Client) -> None:
    short = http.post("/v1/messages", json=BODY | {"max_tokens": 2}).json()
    assert (short["stop_reason"], short["content"][0]["text"]) == ("max_tokens", "".join(STORY[:2]))


def test_the_events_of_a_message_have_the_documented_order(http: httpx.Client) -> None:
    response = http.post("/v1/messages", json=BODY | {"stream": True})
    assert response.headers["content-type"].startswith("text/event-stream")
    events = events_of(response.text)
    assert all(name == data["type"] for name, data in events)
    names = [name for name, _ in events if name != "content_block_delta"]
    assert names == ["message_start", "content_block_start", "content_block_stop", "message_delta", "message_stop"]
    start, end = events[0][1]["message"], events[-2][1]
    assert (start["content"], start["stop_reason"], start["usage"]["output_tokens"]) == ([], None, 0)
    assert end["delta"] == {"stop_reason": "end_turn", "stop_sequence": None}
    assert end["usage"]["output_tokens"] == len(STORY)
    deltas = [data for name, data in events if name == "content_block_delta"]
    assert "".join(data["delta"]["text"] for data in deltas) == "".join(STORY)
    assert {(data["index"], data["delta"]["type"]) for data in deltas} == {(0, "text_delta")}


def test_a_stream_continues_after_an_event_in_another_connection(
    http: httpx.Client, service: FakeWorkerService
) -> None:
    service.worker.pauses_at = 1
    headers = {"idempotency-key": "a message that is continued"}
    body = BODY | {"stream": True}
    try:
        with http.stream("POST", "/v1/messages", json=body, headers=headers) as response:
            lines = response.iter_lines()
            seen = []
            for line in lines:
                seen.append(line)
                if line.startswith("data: ") and '"text_delta"' in line:
                    break
    finally:
        service.worker.pauses_at = None
    last_id = [line.removeprefix("id: ") for line in seen if line.startswith("id: ")][-1]
    rest = http.post("/v1/messages", json=body, headers={**headers, "last-event-id": last_id}).text
    texts = [line for line in [*seen, *rest.split("\n")] if '"text_delta"' in line]
    assert "".join(json.loads(line[6:])["delta"]["text"] for line in texts) == "".join(STORY)
    whole = http.post("/v1/messages", json=body, headers=headers).text
    frames = [line for line in whole.split("\n") if line.startswith("data: ")]
    assert [line for line in frames if '"message_stop"' in line] == frames[-1:]


def test_a_reader_that_has_the_first_event_alone_gets_it_once(http: httpx.Client, service: FakeWorkerService) -> None:
    headers = {"idempotency-key": "a message of which the start was read"}
    for path, first in (("/v1/messages", "message_start"), ("/v1/chat/completions", '"role"')):
        body = BODY | {"stream": True}
        named = headers | {"idempotency-key": headers["idempotency-key"] + path}
        frames = http.post(path, json=body, headers=named).text.split("\n\n")
        assert first in frames[0]
        [position] = [line.removeprefix("id: ") for line in frames[0].split("\n") if line.startswith("id: ")]
        rest = http.post(path, json=body, headers={**named, "last-event-id": position}).text.split("\n\n")
        assert first not in "".join(rest)
        assert text_of(frames) == text_of(rest) == "".join(STORY)


def text_of(frames: list[str]) -> str:
    """The text of the events of either form."""
    texts = []
    for frame in frames:
        [*data] = [json.loads(line[6:]) for line in frame.split("\n") if line.startswith("data: {")]
        for one in data:
            delta = one.get("delta") or one.get("choices", [{}])[0].get("delta", {})
            texts.append(delta.get("text") or delta.get("content") or "")
    return "".join(texts)


def test_tokens_are_counted_as_the_answer_counts_them(http: httpx.Client, service: FakeWorkerService) -> None:
    num_dispatches = len(service.worker.dispatches)
    counted = http.post("/v1/messages/count_tokens", json={"model": "m", "messages": BODY["messages"]})
    assert len(service.worker.dispatches) == num_dispatches
    usage = http.post("/v1/messages", json=BODY).json()["usage"]
    assert counted.json() == {"input_tokens": usage["input_tokens"] + usage["cache_read_input_tokens"]}


@pytest.mark.parametrize(
    ("body", "status", "kind", "param"),
    [
        (BODY | {"max_tokens": None}, 400, "invalid_request_error", "max_tokens"),
        (BODY | {"messages": [{"role": "user", "content": 3}]}, 400, "invalid_request_error", "messages[0].content"),
        (BODY | {"top_p": 2}, 400, "invalid_request_error", "top_p"),
        (BODY | {"model": "x" * 2000}, 404, "not_found_error", "model"),
    ],
)
def test_errors_have_the_form_of_messages(
    http: httpx.Client, body: dict[str, Any], status: int, kind: str, param: str
) -> None:
    response = http.post("/v1/messages", json=body)
    error = response.json()
    assert (response.status_code, error["type"], error["error"]["type"]) == (status, "error", kind)
    assert error["error"]["param"] == param
    assert error["request_id"] == response.headers["x-request-id"]


def test_unknown_paths_below_messages_name_what_there_is(http: httpx.Client) -> None:
    error = http.post("/v1/messages/count_token", json={}).json()
    assert (error["type"], error["error"]["type"]) == ("error", "not_found_error")
    assert "did you mean /v1/messages/count_tokens?" in error["error"]["message"]
    wrong = http.get("/v1/messages")
    assert (wrong.status_code, wrong.json()["type"]) == (405, "error")


def test_a_failure_in_a_stream_is_an_event(http: httpx.Client, service: FakeWorkerService) -> None:
    service.worker.failure = ErrorInfo(type="server_error", status=500, message="it broke")
    try:
        events = events_of(http.post("/v1/messages", json=BODY | {"stream": True}).text)
    finally:
        service.worker.failure = None
    assert events[-1][0] == "error"
    assert (events[-1][1]["error"]["type"], events[-1][1]["error"]["message"]) == ("api_error", "it broke")


def test_the_key_may_be_in_the_header_of_anthropic(tmp_path: Path) -> None:
    keys = {"key_digests": [digest_of("secret")]}
    with fake_worker_service(tmp_path, gateway=keys) as service, service.http() as http:
        refused = http.post("/v1/messages", json=BODY)
        assert (refused.status_code, refused.json()["error"]["type"]) == (401, "authentication_error")
        assert http.post("/v1/messages", json=BODY, headers={"x-api-key": "wrong"}).status_code == 401
        assert http.post("/v1/messages", json=BODY, headers={"x-api-key": "secret"}).status_code == 200
        both = [("x-api-key", "secret"), ("x-api-key", "secret")]
        assert http.post("/v1/messages", json=BODY, headers=both).status_code == 401

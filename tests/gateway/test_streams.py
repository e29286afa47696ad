"""Streams over HTTP, byte for byte."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from cactus_actors.gateway.answers import answer_stream
from cactus_actors.gateway.http.timeouts import GatewayTimeouts
from cactus_actors.protocol.error_info import ErrorInfo
from tests.support.http.raw_http import connection, post
from tests.support.router.scripted_router import until
from tests.support.services.fake_worker_service import STORY, FakeWorkerService, fake_worker_service


def frames_of(text: str) -> list[str]:
    """The frames of a stream; every one of them must be complete."""
    assert text.endswith("\n\n")
    return text.removesuffix("\n\n").split("\n\n")


def data_of(frames: list[str]) -> list[Any]:
    """The JSON of all data frames except the last, which must be [DONE]; comments are skipped."""
    lines = [line for frame in frames for line in frame.split("\n") if line.startswith("data: ")]
    assert lines[-1] == "data: [DONE]"
    return [json.loads(line.removeprefix("data: ")) for line in lines[:-1]]


@pytest.fixture
def slowly(service: FakeWorkerService) -> Iterator[None]:
    """Slow the worker down, so that no two words arrive together on a busy machine."""
    usual, service.worker.step_s = service.worker.step_s, 1.0
    yield
    service.worker.step_s = usual


@pytest.mark.usefixtures("slowly")
def test_a_completion_stream_equals_the_documented_bytes(http: httpx.Client) -> None:
    response = http.post("/v1/completions", json={"model": "gpt-3.5-turbo", "prompt": "Once", "stream": True})
    assert response.headers["content-type"].startswith("text/event-stream")
    frames = frames_of(response.text)
    first = json.loads(frames[0].removeprefix("data: "))
    head = f'data: {{"id":"{first["id"]}","object":"text_completion","created":{first["created"]}'
    tail = ',"model":"gpt-3.5-turbo"}'
    assert first["id"].startswith("cmpl-")
    assert frames == [
        *(
            f'{head},"choices":[{{"text":"{word}","index":0,"logprobs":null,"finish_reason":null}}]{tail}'
            for word in STORY
        ),
        f'{head},"choices":[{{"text":"","index":0,"logprobs":null,"finish_reason":"stop"}}]{tail}',
        "data: [DONE]",
    ]


def test_a_chat_stream_begins_with_the_role_and_ends_with_the_usage(http: httpx.Client) -> None:
    body = {
        "messages": [{"role": "user", "content": "hi"}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    chunks = data_of(frames_of(http.post("/v1/chat/completions", json=body).text))
    assert {chunk["object"] for chunk in chunks} == {"chat.completion.chunk"}
    assert len({(chunk["id"], chunk["created"]) for chunk in chunks}) == 1
    *parts, usage = chunks
    deltas = [part["choices"][0]["delta"] for part in parts]
    assert deltas[0] == {"role": "assistant", "content": ""}
    assert "".join(delta.get("content", "") for delta in deltas) == "".join(STORY)
    assert [part["choices"][0]["finish_reason"] for part in parts][-2:] == [None, "stop"]
    assert usage["choices"] == []
    assert usage["usage"]["completion_tokens"] == len(STORY)


def test_choices_of_many_prompts_have_their_index(http: httpx.Client) -> None:
    body = {"prompt": ["a", "b"], "n": 2, "stream": True, "max_tokens": 2}
    chunks = data_of(frames_of(http.post("/v1/completions", json=body).text))
    texts = dict.fromkeys(range(4), "")
    for chunk in chunks:
        [choice] = chunk["choices"]
        texts[choice["index"]] += choice["text"]
    assert texts == dict.fromkeys(range(4), "".join(STORY[:2]))
    assert sorted(c["choices"][0]["index"] for c in chunks if c["choices"][0]["finish_reason"]) == [
        0,
        1,
        2,
        3,
    ]


def test_a_llama_cpp_stream_ends_with_its_statistics_and_without_done(http: httpx.Client) -> None:
    body = {"prompt": "Once", "n_predict": 3, "stream": True, "return_tokens": True}
    frames = frames_of(http.post("/completion", json=body).text)
    chunks = [json.loads(frame.removeprefix("data: ")) for frame in frames]
    assert "".join(chunk["content"] for chunk in chunks) == "".join(STORY)
    assert [token for chunk in chunks for token in chunk["tokens"]] == [0, 1, 2]
    assert [chunk["stop"] for chunk in chunks] == [False] * (len(chunks) - 1) + [True]
    assert chunks[-1]["tokens_predicted"] == 3
    assert chunks[-1]["stop_type"] == "eos"


def test_an_error_before_the_first_token_has_a_status(http: httpx.Client) -> None:
    response = http.post("/v1/completions", json={"prompt": [10**6], "stream": True})
    assert response.status_code == 400
    error = response.json()["error"]
    assert (error["type"], error["code"], error["param"]) == ("invalid_request_error", 400, "prompt")
    assert error["request_id"] == response.headers["x-request-id"]


def test_an_error_after_the_first_token_is_a_frame_without_a_finish(tmp_path: Path) -> None:
    failure = ErrorInfo(type="model_error", status=500, message="not finite")
    with fake_worker_service(tmp_path, failure=failure, step_s=0.05) as service, service.http() as http:
        response = http.post("/v1/completions", json={"prompt": "Once", "stream": True})
        assert response.status_code == 200
        *chunks, error = data_of(frames_of(response.text))
        assert "".join(chunk["choices"][0]["text"] for chunk in chunks) == "".join(STORY[:-1])
        assert {chunk["choices"][0]["finish_reason"] for chunk in chunks} == {None}
        assert error["error"]["type"] == "model_error"
        assert error["error"]["code"] == 500


def test_an_idle_stream_is_kept_alive_by_comments(tmp_path: Path) -> None:
    with (
        fake_worker_service(tmp_path, gateway={"ping_interval_s": 0.1}, step_s=0.5) as service,
        service.http() as http,
    ):
        frames = frames_of(http.post("/v1/completions", json={"prompt": "Once", "stream": True}).text)
    assert frames.count(": ping") >= 4
    assert "".join(chunk["choices"][0]["text"] for chunk in data_of(frames)) == "".join(STORY)


def test_events_wait_for_a_crowd_alone() -> None:
    """At 10 ms a step, each of 16 streams has an event for each token, and each of 1,000 has one for two."""
    assert [answer_stream.hold_s(number) for number in (0, 1, 2, 16, 80, 1000)] == [0, 0, 0.0005, 0.004, 0.02, 0.02]


def test_a_stream_alone_is_never_held(http: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    until(lambda: "\ncactus_http_streams_open 0.0\n" in http.get("/metrics").text)
    for name in ("HOLD_PER_STREAM_S", "MAX_HOLD_S"):
        monkeypatch.setattr(answer_stream, name, 3600.0)
    chunks = data_of(frames_of(http.post("/v1/completions", json={"prompt": "Once", "stream": True}).text))
    assert "".join(chunk["choices"][0]["text"] for chunk in chunks) == "".join(STORY)


def leave(service: FakeWorkerService, body: Mapping[str, Any], *headers: bytes, num_jobs: int = 1) -> None:
    """Close a connection once the worker has the jobs of its request."""
    with connection(service.url) as opened:
        opened.sendall(post(*headers, body=httpx.Request("POST", service.url, json=body).content))
        until(lambda: len(service.worker.dispatches) == num_jobs)


@pytest.mark.parametrize("is_streamed", [True, False])
@pytest.mark.parametrize("is_queued", [True, False])
def test_closing_the_connection_cancels_the_jobs(tmp_path: Path, is_streamed: bool, is_queued: bool) -> None:
    words = ("x",) * 10_000
    with fake_worker_service(tmp_path, words=words, is_held=is_queued) as service, service.client() as client:
        body = {"prompt": ["a", "b"], "stream": is_streamed}
        if is_streamed and not is_queued:
            with service.http() as http, http.stream("POST", "/v1/completions", json=body) as response:
                next(response.iter_text())
        else:
            leave(service, body, num_jobs=2)
        until(lambda: client.status().jobs.cancelled == 2)
        until(lambda: service.worker.num_running == 0)
        assert len(service.worker.aborted) == 2


def test_a_request_with_an_idempotency_key_outlives_its_connection(tmp_path: Path) -> None:
    with fake_worker_service(tmp_path, words=("a", "b", "c") * 10, step_s=0.05) as service:
        asked = {"json": {"prompt": "Once", "seed": 5}, "headers": {"idempotency-key": "mine"}}
        leave(service, asked["json"], b"Idempotency-Key: mine")
        with service.http() as http, service.client() as client:
            first = http.post("/v1/completions", **asked).json()  # type: ignore[arg-type]
            again = http.post("/v1/completions", **asked).json()  # type: ignore[arg-type]
            assert first["choices"][0]["text"] == "abc" * 10
            assert (again["id"], again["choices"]) == (first["id"], first["choices"])
            assert client.status().jobs.accepted == 1
            other = http.post("/v1/completions", json={"prompt": "Twice"}, headers=asked["headers"])
            assert other.status_code == 409
            assert other.json()["error"]["type"] == "idempotency_conflict"
        assert service.worker.aborted == []


@pytest.mark.parametrize("n", [pytest.param(1, marks=pytest.mark.slow), 2])
@pytest.mark.parametrize("is_restarted", [False, True])
@pytest.mark.parametrize("is_waited_for", [False, True])
def test_a_stream_resumes_after_the_last_event(tmp_path: Path, n: int, is_restarted: bool, is_waited_for: bool) -> None:
    words = tuple(f"{number} " for number in range(30))
    with fake_worker_service(tmp_path, words=words, pauses_at=15) as service:
        body = {"messages": [{"role": "user", "content": "hi"}], "stream": True, "n": n, "seed": 5}
        texts = dict.fromkeys(range(n), "")
        last_id = ""

        def take(frame: str) -> None:
            nonlocal last_id
            for line in frame.split("\n"):
                if line.startswith("id: "):
                    last_id = line.removeprefix("id: ")
                elif line.startswith("data: {"):
                    [choice] = json.loads(line.removeprefix("data: "))["choices"]
                    texts[choice["index"]] += choice["delta"].get("content", "")

        with (
            service.http() as http,
            http.stream("POST", "/v1/chat/completions", json=body, headers={"idempotency-key": "k"}) as cut,
        ):
            rest = ""
            for piece in cut.iter_text():
                *whole, rest = (rest + piece).split("\n\n")
                for frame in whole:
                    take(frame)
                if len(texts[0]) > 20:
                    break
        assert 20 < len(texts[0]) < len("".join(words))
        service.worker.pauses_at = None
        if is_restarted:
            service.stop_gateway()
            service.start_gateway()
        if is_waited_for:
            until(lambda: service.worker.num_running == 0)
        with service.http() as http:
            response = http.post("/v1/chat/completions", json=body, headers={"last-event-id": last_id})
            for frame in frames_of(response.text):
                take(frame)
        assert texts == dict.fromkeys(range(n), "".join(words))
        assert service.worker.aborted == []


@pytest.mark.parametrize(
    ("event", "status"),
    [("rubbish", 400), ("0" * 24 + ":1.1", 404), ("0" * 24 + ":" + "9" * 400, 400), ("é", 400)],
)
def test_an_unknown_event_id_is_refused(http: httpx.Client, event: str, status: int) -> None:
    response = http.post(
        "/v1/completions", json={"prompt": "a", "stream": True}, headers={b"last-event-id": event.encode()}
    )
    assert response.status_code == status


@pytest.mark.parametrize("key", ["x" * 10_000, "x" * 256, "a\tb"])
def test_an_idempotency_key_has_a_length_limit(http: httpx.Client, key: str) -> None:
    response = http.post("/v1/completions", json={"prompt": "a"}, headers={"idempotency-key": key})
    assert response.status_code == 400
    assert response.json()["error"]["param"] == "Idempotency-Key"


def test_a_request_can_be_queried_and_cancelled(tmp_path: Path) -> None:
    with fake_worker_service(tmp_path, words=("x",) * 10_000, step_s=0.02) as service, service.http() as http:
        asked = {"json": {"prompt": "Once", "n": 2}, "headers": {"idempotency-key": "mine"}}
        leave(service, asked["json"], b"Idempotency-Key: mine", num_jobs=2)
        name = service.worker.dispatches[0].job_id[:24]
        seen = http.get(f"/v1/requests/cmpl-{name}").json()
        assert (seen["id"], seen["state"]) == (name, "running")
        assert [choice["state"] for choice in seen["choices"]] == ["running", "running"]
        assert http.delete(f"/v1/requests/{name}").json()["states"] == ["cancelled", "cancelled"]
        seen = http.get(f"/v1/requests/req_{name}").json()
        assert seen["state"] == "ended"
        assert {choice["result"]["finish_reason"] for choice in seen["choices"]} == {"cancelled"}
        until(lambda: service.worker.num_running == 0)
        assert http.get("/v1/requests/" + "0" * 24).status_code == 404
        assert http.get("/v1/requests/rubbish").status_code == 404


def test_a_client_that_does_not_read_is_disconnected(tmp_path: Path) -> None:
    timeouts = GatewayTimeouts(reader_s=0.3)
    words = ("y" * 100_000,) * 400
    with (
        fake_worker_service(tmp_path, timeouts=timeouts, words=words, step_s=0.005) as service,
        service.http() as http,
        http.stream("POST", "/v1/completions", json={"prompt": "Once", "stream": True}),
    ):
        until(lambda: len(service.worker.aborted) == 1)


def test_a_stopping_service_sends_an_error_to_its_streams(tmp_path: Path) -> None:
    with fake_worker_service(tmp_path) as service, service.http() as http:
        assert http.get("/readyz").status_code == 200
        assert service.gateway is not None
        service.gateway.drain()
        for path in ("/readyz", "/health"):
            response = http.get(path)
            assert (response.status_code, response.json()["error"]["type"]) == (503, "unavailable_error")
            assert int(response.headers["retry-after"]) >= 1
        assert http.get("/healthz").status_code == 200
        assert http.post("/v1/completions", json={"prompt": "a"}).status_code == 503


def test_the_client_gets_the_tokens_of_a_fake_worker(service: FakeWorkerService) -> None:
    with service.client() as client:
        assert client.complete("Once", max_tokens=3).text == "".join(STORY)

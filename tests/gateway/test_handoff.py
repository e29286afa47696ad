"""Answers of a cloud over HTTP: clients can distinguish them from the local ones that they replace."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from cactus_actors.config import HandoffSettings
from cactus_actors.handoff.actor import HandoffActor
from tests.support.http.serving import Request, http_serving
from tests.support.router.scripted_router import until
from tests.support.services.fake_worker_service import STORY, FakeWorkerService, fake_worker_service

CHAT = "/v1/chat/completions"
UNSURE: dict[str, Any] = {
    "messages": [{"role": "user", "content": "What is 2+2?"}],
    "cloud_handoff_threshold": 1.0,  # above every confidence
    "model": "mine",
}
LOCAL_TEXT = "".join(STORY)


class Cloud:
    """Stream two words; with `breaks` the first one only, with `is_silent` nothing."""

    def __init__(self) -> None:
        self.breaks = False
        self.is_silent = False
        self.is_over = threading.Event()

    def answer(self, request: Request) -> None:
        request.rfile.read(int(request.headers["content-length"]))
        if self.is_silent:
            self.is_over.wait(60)
            return
        request.send_response(200)
        request.send_header("content-type", "text/event-stream")
        request.end_headers()
        self.say(request, "from the ")
        if not self.breaks:
            self.say(request, "cloud", "stop")
            usage = {"prompt_tokens": 11, "completion_tokens": 4}
            request.wfile.write(b"data: " + json.dumps({"choices": [], "usage": usage}).encode() + b"\n\n")

    def say(self, request: Request, content: str, reason: str | None = None) -> None:
        choice = {"index": 0, "delta": {"content": content}, "finish_reason": reason}
        request.wfile.write(b"data: " + json.dumps({"choices": [choice]}).encode() + b"\n\n")
        request.wfile.flush()


@contextmanager
def served(state_dir: Path, cloud: Cloud, max_wait_s: float | None = None) -> Iterator[FakeWorkerService]:
    """A service that hands off to `cloud`."""
    with (
        http_serving(cloud.answer) as url,
        fake_worker_service(state_dir, router_settings={"max_handoff_wait_s": max_wait_s}) as service,
    ):
        settings = HandoffSettings(
            base_url=f"{url}/v1", model="big", max_retries=0, prompt_price=1e5, completion_price=1e6
        )
        actor = HandoffActor(settings)
        running = threading.Thread(target=actor.run, args=(service.endpoints.workers,), daemon=True)
        running.start()
        try:
            with service.client() as client:
                until(lambda: any(worker.kind == "cloud" for worker in client.status().workers))
            yield service
        finally:
            cloud.is_over.set()
            actor.stop()
            running.join(60)


@pytest.fixture
def cloud() -> Cloud:
    return Cloud()


@pytest.fixture
def http(cloud: Cloud, tmp_path: Path) -> Iterator[httpx.Client]:
    with served(tmp_path, cloud) as service, service.http() as http:
        yield http


def frames_of(http: httpx.Client) -> list[dict[str, Any]]:
    asked = UNSURE | {"stream": True, "stream_options": {"include_usage": True}}
    lines = http.post(CHAT, json=asked).text.splitlines()
    assert lines[-2] == "data: [DONE]"
    return [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: {")]


def check_told_apart(answer: dict[str, Any]) -> None:
    assert (answer["model"], answer.get("system_fingerprint")) == ("big", None)
    assert (answer["cloud_handoff"], answer["confidence"], answer["measures"]) == (True, None, None)
    usage, handoff = answer["usage"], answer["handoff"]
    assert (usage["prompt_tokens"], usage["completion_tokens"], usage["total_tokens"]) == (11, 4, 15)
    assert handoff["local_usage"]["prompt_tokens"] > 0
    assert handoff["local_usage"]["completion_tokens"] > 0
    assert (handoff["local_model"], handoff["local_confidence"]) == ("mine", pytest.approx(0.9))
    assert handoff["local_measures"]["entropy_mean"] == pytest.approx(0.1)
    assert (handoff["cost"], handoff["currency"]) == (pytest.approx(11 * 0.1 + 4), "USD")
    assert handoff["usage_is_estimated"] is False


def test_a_cloud_answer_is_marked(http: httpx.Client) -> None:
    answer = http.post(CHAT, json=UNSURE).json()
    assert answer["choices"][0]["message"]["content"] == "from the cloud"
    check_told_apart(answer)


def test_a_streamed_cloud_answer_is_marked_from_its_first_chunk(http: httpx.Client) -> None:
    frames = frames_of(http)
    text = "".join(frame["choices"][0]["delta"].get("content", "") for frame in frames if frame["choices"])
    assert text == "from the cloud"
    assert {frame["model"] for frame in frames} == {"big"}
    assert not [frame for frame in frames if "system_fingerprint" in frame]
    check_told_apart(frames[-1])


def test_a_local_answer_names_the_local_model(http: httpx.Client) -> None:
    answer = http.post(CHAT, json=UNSURE | {"cloud_handoff_threshold": 0}).json()
    assert (answer["model"], answer["confidence"]) == ("mine", pytest.approx(0.9))
    assert answer["system_fingerprint"] is not None
    assert "local_usage" not in answer["handoff"]


def test_a_broken_stream_of_the_cloud_ends_with_the_local_answer_and_the_error(
    http: httpx.Client, cloud: Cloud
) -> None:
    cloud.breaks = True
    *chunks, last = frames_of(http)
    text = "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks)
    assert text == "from the "
    assert last["error"]["type"] == "handoff_error"
    assert (last["handoff"]["status"], last["handoff"]["local_text"]) == ("failed", LOCAL_TEXT)
    assert last["handoff"]["local_finish_reason"] == "stop"


def test_a_complete_request_whose_cloud_breaks_off_gets_the_local_answer(http: httpx.Client, cloud: Cloud) -> None:
    cloud.breaks = True
    answer = http.post(CHAT, json=UNSURE).json()
    assert (answer["choices"][0]["message"]["content"], answer["model"]) == (LOCAL_TEXT, "mine")
    assert (answer["handoff"]["status"], answer["usage"]["completion_tokens"]) == ("failed", 3)
    assert answer["handoff"]["cloud_usage"]["completion_tokens"] == 1


def test_a_cloud_that_takes_too_long_gives_the_local_answer(cloud: Cloud, tmp_path: Path) -> None:
    cloud.is_silent = True
    with served(tmp_path, cloud, max_wait_s=0.5) as service, service.http() as http:
        answer = http.post(CHAT, json=UNSURE).json()
    assert answer["choices"][0]["message"]["content"] == LOCAL_TEXT
    assert answer["handoff"]["reason"] == "no answer of the cloud within 0.5 s"


def test_a_response_of_the_cloud_is_told_apart_and_stored(http: httpx.Client) -> None:
    asked = {"input": "What is 2+2?", "cloud_handoff_threshold": 1.0, "model": "mine"}
    text = http.post("/v1/responses", json=asked | {"stream": True}).text
    events = [json.loads(line.removeprefix("data: ")) for line in text.split("\n") if line.startswith("data: ")]
    body = events[-1]["response"]
    assert (events[0]["response"]["model"], body["model"], body["cloud_handoff"]) == ("mine", "big", True)
    assert body["output"][0]["content"][0]["text"] == "from the cloud"
    assert "".join(event.get("delta", "") for event in events) == "from the cloud"
    assert (body["usage"]["total_tokens"], body["handoff"]["status"]) == (15, "completed")
    path = f"/v1/responses/{body['id']}"
    assert http.get(path).json() == body
    assert http.get(path, params={"stream": "true"}).text == text


def test_a_response_that_the_cloud_broke_off_has_failed(http: httpx.Client, cloud: Cloud) -> None:
    cloud.breaks = True
    asked = {"input": "What is 2+2?", "cloud_handoff_threshold": 1.0, "model": "mine", "stream": True}
    text = http.post("/v1/responses", json=asked).text
    ended = json.loads(text.rpartition("data: ")[2])
    body = ended["response"]
    assert (ended["type"], body["status"], body["error"]["code"]) == ("response.failed", "failed", "server_error")
    assert body["output"][0]["content"][0]["text"] == "from the "
    assert (body["handoff"]["status"], body["handoff"]["local_text"]) == ("failed", LOCAL_TEXT)
    assert http.get(f"/v1/responses/{body['id']}", params={"stream": "true"}).text == text

"""A gateway that is asked to stop, and one without its router."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.http.raw_http import connection, post, request, statuses, until_closed
from tests.support.router.scripted_router import until
from tests.support.services.fake_worker_service import FakeWorkerService, fake_worker_service

WORDS = tuple(f"{number} " for number in range(40))
SLOWLY_S, FAST_S = 0.5, 0.01
"""Seconds per step of jobs that must not end during the test, and of jobs that must."""
COMPLETIONS = "/v1/completions"


@pytest.fixture
def service(tmp_path: Path) -> Iterator[FakeWorkerService]:
    with fake_worker_service(tmp_path, words=WORDS, step_s=0.02) as service:
        yield service


class Asked:
    """A request that is made in a thread; `response` is set when it has ended, its head sooner."""

    def __init__(self, service: FakeWorkerService, headers: dict[str, str] | None = None, **body: Any) -> None:
        self.response: httpx.Response
        self._service, self._headers, self._body = service, headers, body
        self.has_head = threading.Event()
        self._thread = threading.Thread(target=self._ask)
        self._thread.start()

    def ended(self) -> httpx.Response:
        self._thread.join(60)
        return self.response

    def _ask(self) -> None:
        with self._service.http() as http:
            body = {"prompt": "a", **self._body}
            with http.stream("POST", COMPLETIONS, json=body, headers=self._headers) as response:
                self.has_head.set()
                response.read()
            self.response = response


def drain(service: FakeWorkerService) -> bool:
    assert service.gateway is not None
    return service.gateway.drain()


def error_of(response: httpx.Response) -> dict[str, Any]:
    error: dict[str, Any] = response.json()["error"]
    return error


def test_a_draining_gateway_refuses_new_work_and_finishes_its_requests(service: FakeWorkerService) -> None:
    service.worker.step_s = SLOWLY_S
    stream, whole = Asked(service, stream=True), Asked(service)
    until(lambda: service.worker.num_running == 2)
    with service.http() as http:
        assert http.get("/readyz").status_code == 200
        assert not drain(service)
        refused = http.get("/readyz")
        assert (refused.status_code, error_of(refused)["type"]) == (503, "unavailable_error")
        assert refused.headers["connection"] == "close"
        assert http.get("/healthz").status_code == 200
        refused = http.post(COMPLETIONS, json={"prompt": "a"})
        assert (refused.status_code, error_of(refused)["type"]) == (503, "unavailable_error")
        assert "draining" in error_of(refused)["message"]
        assert int(refused.headers["retry-after"]) >= 1
        assert http.get("/v1/models").status_code == 200
    service.worker.step_s = FAST_S
    assert whole.ended().json()["choices"][0]["text"] == "".join(WORDS)
    assert stream.ended().text.endswith("data: [DONE]\n\n")
    assert "error" not in stream.response.text
    until(lambda: drain(service))


def test_a_draining_gateway_answers_the_repeated_request_of_a_running_job(service: FakeWorkerService) -> None:
    service.worker.step_s = SLOWLY_S
    with connection(service.url) as opened:
        opened.sendall(post(b"Idempotency-Key: mine", body=b'{"prompt":"a","seed":1}'))
        until(lambda: service.worker.num_running == 1)
    drain(service)
    service.worker.step_s = FAST_S
    with service.http() as http:
        headers = {"idempotency-key": "mine"}
        answer = http.post(COMPLETIONS, json={"prompt": "a", "seed": 1}, headers=headers)
        assert answer.json()["choices"][0]["text"] == "".join(WORDS)


@pytest.mark.parametrize("is_streamed", [False, True])
def test_waiting_clients_get_an_error_when_it_stops(service: FakeWorkerService, is_streamed: bool) -> None:
    service.worker.step_s = SLOWLY_S
    left = Asked(service, stream=is_streamed)
    kept = Asked(service, {"idempotency-key": "mine"}, stream=is_streamed)
    until(lambda: service.worker.num_running == 2)
    if is_streamed:
        assert all(asked.has_head.wait(60) for asked in (left, kept))
    service.stop_gateway()
    assert service.worker.num_running > 0  # it did not wait for them
    for asked in (left, kept):
        response = asked.ended()
        if is_streamed:
            *chunks, last, done = response.text.strip().split("\n\n")
            assert done == "data: [DONE]"
            error = json.loads(last.removeprefix("data: "))["error"]
            assert "".join(WORDS).startswith(text_of(chunks))
            assert '"finish_reason":"' not in response.text
        else:
            assert response.status_code == 503
            assert int(response.headers["retry-after"]) >= 1
            error = error_of(response)
        assert (error["type"], error["code"]) == ("unavailable_error", 503)
    with service.client() as client:
        until(lambda: client.status().jobs.cancelled == 1)  # nobody can request that one again
        assert client.status().jobs.running == 1
    service.worker.step_s = FAST_S
    service.start_gateway()
    answer = Asked(service, {"idempotency-key": "mine"}, stream=False).ended()
    assert answer.json()["choices"][0]["text"] == "".join(WORDS)


def text_of(chunks: list[str]) -> str:
    data = [line[6:] for chunk in chunks for line in chunk.split("\n") if line.startswith("data: ")]
    return "".join(json.loads(line)["choices"][0]["text"] for line in data)


def test_a_request_refused_after_the_last_answer_of_a_draining_gateway_gets_no_reply(
    service: FakeWorkerService, caplog: pytest.LogCaptureFixture
) -> None:
    service.worker.step_s = SLOWLY_S
    with connection(service.url) as opened:
        opened.sendall(post(b"Idempotency-Key: one"))
        until(lambda: service.worker.num_running == 1)
        drain(service)
        refused = request(b"GET", b"/v1/models", b"X: " + b"y" * 40_000, b"Y: z")
        opened.sendall(refused.removesuffix(b"\r\n"))  # it never ends
        service.worker.step_s = FAST_S
        assert statuses(until_closed(opened)) == [200]
    assert "Exception" not in caplog.text


def test_a_gateway_without_its_router_answers_with_an_error_at_once(service: FakeWorkerService) -> None:
    with service.http() as http:
        assert http.get("/readyz").status_code == 200
        service.router.stop()
        until(lambda: http.get("/readyz").status_code == 503)
        started = time.monotonic()
        refused = http.post(COMPLETIONS, json={"prompt": "a"})
        assert time.monotonic() - started < 30.0
        assert (refused.status_code, error_of(refused)["type"]) == (503, "unavailable_error")
        assert int(refused.headers["retry-after"]) >= 1
        assert http.get("/healthz").status_code == 200


def test_new_jobs_are_refused_while_the_journal_cannot_be_written(service: FakeWorkerService) -> None:
    with service.http() as http:
        service.router.on_journal_failed([], "disk full")
        until(lambda: http.get("/readyz").status_code == 503)
        assert "journal" in error_of(http.get("/readyz"))["message"]
        service.router.on_journaled([])
        until(lambda: http.get("/readyz").status_code == 200)

"""Requests with an Idempotency-Key are remembered for longer than others, also by the next router."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.router.scripted_router import until
from tests.support.services.fake_worker_service import STORY, FakeWorkerService, fake_worker_service

RETENTION_S = 0.3
"""The retention of jobs without a key; in the service it is ten minutes."""

KEY = {"idempotency-key": "mine"}


def asked(*, stream: bool, prompt: str = "Once", **headers: str) -> dict[str, Any]:
    return {"json": {"prompt": prompt, "stream": stream}, "headers": KEY | headers}


def event_ids(response: httpx.Response) -> list[str]:
    return [line.removeprefix("id: ") for line in response.text.split("\n") if line.startswith("id: ")]


def text_of(response: httpx.Response) -> str:
    """The text of a complete answer, or of a stream that has an end."""
    assert response.status_code == 200
    if "text/event-stream" not in response.headers["content-type"]:
        return str(response.json()["choices"][0]["text"])
    *lines, last = [line for line in response.text.split("\n") if line.startswith("data: ")]
    assert last == "data: [DONE]"
    chunks = [json.loads(line.removeprefix("data: ")) for line in lines]
    return "".join(chunk["choices"][0]["text"] for chunk in chunks)


def outlive_the_others(service: FakeWorkerService, http: httpx.Client) -> None:
    """Wait until a job without a key is forgotten that ended after the one with a key."""
    name = http.post("/v1/completions", json={"prompt": "Twice"}).json()["id"]
    until(lambda: http.get(f"/v1/requests/{name}").status_code == 404)
    assert len(service.worker.dispatches) == 2


def test_a_stream_with_a_key_resumes_after_jobs_without_one_are_forgotten(tmp_path: Path) -> None:
    with (
        fake_worker_service(tmp_path, router_settings={"retention_s": RETENTION_S}) as service,
        service.http() as http,
    ):
        whole = http.post("/v1/completions", **asked(stream=True))
        outlive_the_others(service, http)
        assert text_of(whole) == "".join(STORY)
        first = event_ids(whole)[0]
        rest = http.post("/v1/completions", **asked(stream=True, **{"last-event-id": first}))
        assert text_of(rest) == "".join(STORY[1:])
        conflict = http.post("/v1/completions", **asked(stream=True, prompt="Another"))
        assert conflict.status_code == 409
        assert conflict.json()["error"]["type"] == "idempotency_conflict"
        assert conflict.json()["error"]["param"] == "Idempotency-Key"
        other = {"json": {"prompt": "Another", "stream": True}, "headers": {"last-event-id": first}}
        error = http.post("/v1/completions", **other).json()["error"]
        assert (error["type"], error["param"]) == ("idempotency_conflict", "Last-Event-ID")
        assert error["message"].startswith("this Last-Event-ID belongs to another request: ")
        assert http.get(f"/v1/requests/{service.worker.dispatches[0].job_id[:24]}").status_code == 200
        assert len(service.worker.dispatches) == 2


@pytest.mark.parametrize("stream", [False, True])
def test_the_next_router_answers_a_key_as_the_last_one_did(tmp_path: Path, stream: bool) -> None:
    settings = {"retention_s": RETENTION_S, "journal_dir": str(tmp_path / "journal")}
    with fake_worker_service(tmp_path, router_settings=settings) as service, service.http() as http:
        assert text_of(http.post("/v1/completions", **asked(stream=stream))) == "".join(STORY)
    time.sleep(RETENTION_S)
    with (
        fake_worker_service(tmp_path, router_settings=settings, words=("other",)) as service,
        service.http() as http,
    ):
        assert text_of(http.post("/v1/completions", **asked(stream=stream))) == "".join(STORY)
        conflict = http.post("/v1/completions", **asked(stream=stream, prompt="Another"))
        assert conflict.status_code == 409
        assert conflict.json()["error"]["param"] == "Idempotency-Key"
        assert conflict.json()["error"]["message"] == (
            "this Idempotency-Key belongs to another request: send that one again, or use another Idempotency-Key"
        )
        assert service.worker.dispatches == []

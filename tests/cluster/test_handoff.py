"""Escalation between two instances of the service: one hands off to a second one, which is its cloud."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from cactus_actors.client import Client
from cactus_actors.config import HandoffSettings
from cactus_actors.handoff.cloud_key import CloudKey, store_cloud_key
from tests.support.http.serving import Request, http_serving
from tests.support.router.scripted_router import until

QUESTION = [{"role": "user", "content": "What is the capital of France?"}]
ALWAYS = 1.0  # above every confidence


@contextmanager
def openai_front(client: Client) -> Iterator[str]:
    """An OpenAI-compatible endpoint in front of a running service, like any proxy."""

    def answer(request: Request) -> None:
        body = json.loads(request.rfile.read(int(request.headers["content-length"])))
        request.send_response(200)
        request.send_header("content-type", "text/event-stream")
        request.end_headers()
        stream = client.stream(messages=body["messages"], temperature=0, max_tokens=body.get("max_tokens"))
        for delta in stream:
            send(request, {"delta": {"content": delta.text}, "finish_reason": None})
        send(request, {"delta": {}, "finish_reason": stream.result().finish_reason})
        request.wfile.write(b"data: [DONE]\n\n")

    def send(request: Request, choice: dict[str, Any]) -> None:
        chunk = {"choices": [{"index": 0, **choice}]}
        request.wfile.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")

    with http_serving(answer) as url:
        yield f"{url}/v1"


@pytest.mark.slow
def test_a_job_of_low_confidence_is_answered_by_a_second_instance(serve_locally: Any) -> None:
    with serve_locally(workers=1, name="cloud") as cloud, openai_front(cloud.client) as url:
        expected = cloud.client.complete(messages=QUESTION, temperature=0, max_tokens=32)
        with serve_locally(
            workers=1, handoff=HandoffSettings(base_url=url, confidence_signal="min_token_prob")
        ) as local:
            kept = local.client.complete(messages=QUESTION, temperature=0, max_tokens=32)
            assert kept.handoff.status == "none"

            handed = local.client.complete(
                messages=QUESTION, temperature=0, max_tokens=32, cloud_handoff_threshold=ALWAYS
            )
            assert (handed.handoff.status, handed.handoff.signal) == ("completed", "min_token_prob")
            assert handed.cloud_handoff
            assert handed.text == expected.text

            stream = local.client.stream(
                messages=QUESTION, temperature=0, max_tokens=32, cloud_handoff_threshold=ALWAYS
            )
            assert "".join(delta.text for delta in stream) == expected.text
            assert stream.result().cloud_handoff

            private = local.client.complete(
                messages=QUESTION, temperature=0, cloud_handoff_threshold=ALWAYS, allow_cloud=False
            )
            assert not private.cloud_handoff
            assert private.handoff.status == "suppressed"


def test_the_handoff_process_starts_when_a_key_is_stored(
    serve_locally: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CACTUS_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("CACTUS_CLOUD_KEY", raising=False)
    with serve_locally(workers=1) as local:
        unsure = local.client.complete(messages=QUESTION, temperature=0, cloud_handoff_threshold=ALWAYS)
        assert (unsure.handoff.status, unsure.handoff.reason) == ("recommended", "no key")
        assert unsure.success
        assert unsure.text
        assert not unsure.cloud_handoff
        assert {worker.kind for worker in local.client.status().workers} == {"local"}
        store_cloud_key(CloudKey("nobody-takes-it"))
        until(lambda: {worker.kind for worker in local.client.status().workers} == {"local", "cloud"})


@pytest.mark.slow
def test_an_address_without_a_key_changes_no_local_answer(serve_locally: Any) -> None:
    with serve_locally(workers=1, handoff=HandoffSettings(base_url="https://cloud.invalid/v1")) as local:
        result = local.client.complete(messages=QUESTION, temperature=0, cloud_handoff_threshold=ALWAYS)
        assert result.success
        assert result.text
        assert not result.cloud_handoff
        assert result.handoff.status == "recommended"

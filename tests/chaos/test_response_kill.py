"""Stored responses whose gateway or router is killed in the middle of the answer: the same id gives the same bytes."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.processes.restartable_service import RestartableService
from tests.support.router.scripted_router import until

pytestmark = [
    pytest.mark.chaos,
    pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="looks at /proc"),
]

BACK_WITHIN_S = 120.0
BODY: dict[str, Any] = {
    "input": "Tell me a story about a fox.",
    "max_output_tokens": 700,
    "ignore_eos": True,
    "temperature": 0.9,
    "seed": 5,
}
STREAMED = BODY | {"stream": True}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestartableService]:
    service = RestartableService(tmp_path_factory.mktemp("service"))
    service.start()
    yield service
    service.stop()


def frames_of(text: str) -> list[str]:
    """The complete frames of a stream."""
    return text.split("\n\n")[:-1]


def event_of(frame: str) -> dict[str, Any]:
    event: dict[str, Any] = json.loads(frame.split("\ndata: ", 1)[1])
    return event


def deltas_of(frames: list[str]) -> list[str]:
    return [event["delta"] for event in map(event_of, frames) if "delta" in event]


def read(service: RestartableService, body: dict[str, Any], victim: str | None) -> str:
    """What is read of a stream in which the actor is killed after some of the answer."""
    text = ""
    with service.http() as http, http.stream("POST", "/v1/responses", json=body) as response:
        assert response.status_code == 200
        try:
            for piece in response.iter_text():
                text += piece
                if victim is not None and text.count("output_text.delta\n") >= 20:
                    os.kill(service.pid_of(victim), signal.SIGKILL)
                    victim = None
        except httpx.HTTPError:
            pass
    assert victim is None
    return text


def got(service: RestartableService, path: str) -> str:
    """The text of a resource, once there is a gateway again."""

    answers: list[str] = []

    def is_answered() -> bool:
        try:
            with service.http() as http:
                response = http.get(path)
        except httpx.HTTPError:
            return False
        answers.append(response.text)
        return response.status_code == 200

    until(is_answered, BACK_WITHIN_S)
    return answers[-1]


@pytest.mark.parametrize("background", [False, True])
def test_a_killed_gateway(service: RestartableService, background: bool) -> None:
    whole = frames_of(read(service, STREAMED, None))
    seen = frames_of(read(service, STREAMED | {"background": background}, "GatewayActor"))
    created = event_of(seen[0])["response"]
    path = f"/v1/responses/{created['id']}"
    streamed = got(service, f"{path}?stream=true")
    frames = frames_of(streamed)
    assert frames[: len(seen)] == seen
    assert deltas_of(frames) == deltas_of(whole)
    ended = event_of(frames[-1])
    assert (ended["type"], ended["response"]["created_at"]) == ("response.incomplete", created["created_at"])
    after = event_of(seen[-1])["sequence_number"]
    assert got(service, f"{path}?stream=true&starting_after={after}") == streamed.removeprefix("\n\n".join([*seen, ""]))
    body = got(service, path)
    assert json.loads(body) == ended["response"]
    os.kill(service.pid_of("GatewayActor"), signal.SIGKILL)
    assert got(service, path) == body
    assert got(service, f"{path}?stream=true") == streamed


def test_a_killed_router(service: RestartableService) -> None:
    whole = frames_of(read(service, STREAMED, None))
    seen = read(service, STREAMED, "RouterActor")
    frames = frames_of(seen)
    assert deltas_of(frames) == deltas_of(whole)
    ended = event_of(frames[-1])["response"]
    path = f"/v1/responses/{ended['id']}"
    assert got(service, f"{path}?stream=true") == seen
    assert json.loads(got(service, path)) == ended

"""The served APIs, the responses at paths of other APIs, and the shape of errors for Mistral's clients."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from cactus_actors.gateway.http.api_keys import digest_of
from cactus_actors.gateway.http.unserved_paths import suggestion_for
from cactus_actors.gateway.openapi.document import OPERATIONS
from cactus_actors.protocol.errors import ModelFailure
from tests.support.services.fake_worker_service import FakeWorkerService, fake_worker_service

CHAT = "/v1/chat/completions"
MESSAGES = [{"role": "user", "content": "What is 2+2?"}]
SERVED = [operation.path for group in OPERATIONS.values() for operation in group]


def test_the_root_describes_the_service(http: httpx.Client) -> None:
    root = http.get("/")
    said = root.json()
    assert root.status_code == 200
    assert (said["name"], said["model"]) == ("cactus-actors", "cactus-sprout")
    assert "inference server" in said["description"]
    assert CHAT in said["apis"]["OpenAI"]
    assert {path for paths in said["apis"].values() for path in paths} == set(SERVED)
    for name in ("docs", "openapi", "health", "metrics"):
        assert http.get(said[name]).status_code == 200


def test_the_root_needs_a_key(tmp_path: Path) -> None:
    keys = {"key_digests": [digest_of("secret")]}
    with fake_worker_service(tmp_path, gateway=keys) as service, service.http() as http:
        assert http.get("/").status_code == 401
        assert "cactus-sprout" not in http.get("/").text
        assert http.get("/", headers={"authorization": "Bearer secret"}).status_code == 200


@pytest.mark.parametrize(
    ("method", "path", "whose", "instead"),
    [
        ("POST", "/v1/conversations", "OpenAI", "/v1/responses"),
        ("POST", "/reranking", "llama.cpp", "/v1/rerank"),
        ("GET", "/props", "llama.cpp", "/v1/models"),
        ("POST", "/embedding", "llama.cpp", "/v1/embeddings"),
        ("POST", "/chat/completions", "OpenAI", CHAT),
        ("GET", "/models", "OpenAI", "/v1/models"),
        ("POST", "/openai/deployments/mine/chat/completions", "Azure", CHAT),
        ("POST", "/generate_stream", "Text Generation Inference", "/v1/completions"),
    ],
)
def test_a_path_of_another_api_names_that_api_and_the_alternative(
    http: httpx.Client, method: str, path: str, whose: str, instead: str
) -> None:
    response = http.request(method, path, **({"json": {}} if method == "POST" else {}))
    error = response.json()["error"]
    assert (response.status_code, error["type"]) == (404, "resource_not_found_error")
    assert error["message"].startswith(f"{method} {path}: ")
    assert whose in error["message"]
    assert f"use {instead}" in error["message"]
    assert [one for one in SERVED if instead == one or instead.startswith(f"{one},")]


def test_unknown_paths_are_answered_with_404() -> None:
    assert "the base URL and the path both have /v1; use /v1/models" in suggestion_for("GET", "/v1/v1/models", [])
    assert "did you mean /v1/chat/completions?" in suggestion_for("POST", "/v1/chat/completion", SERVED)
    assert "there is nothing like it here" in suggestion_for("POST", "/v1/audio/speech", SERVED)
    unknown = suggestion_for("GET", "/" + "x" * 5000, SERVED)
    assert "(OpenAI, Anthropic, Ollama, llama.cpp)" in unknown
    assert len(unknown) < 250


def test_a_wrong_method_is_answered_with_the_allowed_methods(http: httpx.Client) -> None:
    response = http.get(CHAT)
    assert (response.status_code, response.headers["allow"]) == (405, "POST, OPTIONS")
    assert response.json()["error"]["message"] == "this path takes POST, OPTIONS"


@pytest.fixture(scope="module")
def mistral(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeWorkerService]:
    settings = {"chat_profile": "mistral", "strict": True}
    with fake_worker_service(tmp_path_factory.mktemp("state"), gateway=settings) as service:
        yield service


@pytest.mark.parametrize(
    ("path", "body", "status", "param"),
    [
        (CHAT, {"messages": MESSAGES, "temperature": 9}, 400, "temperature"),
        (CHAT, {"messages": MESSAGES, "random_seed": "x"}, 400, "random_seed"),
        (CHAT, {"messages": MESSAGES, "unknown": 1}, 400, "unknown"),
        (CHAT, {"messages": MESSAGES, "model": "m" * 1000}, 404, "model"),
        ("/v1/agents/completions", {}, 404, None),
    ],
)
def test_errors_of_mistrals_profile_have_mistrals_shape(
    mistral: FakeWorkerService, path: str, body: dict[str, Any], status: int, param: str | None
) -> None:
    with mistral.http() as http:
        response = http.post(path, json=body)
    error = response.json()
    assert response.status_code == status
    assert (error["object"], error["param"], error["code"]) == ("error", param, str(status))
    assert error["message"]
    assert error["request_id"] == response.headers["x-request-id"]
    # and OpenAI's shape, for clients of another package
    assert error["error"] == {**{name: error[name] for name in ("message", "type", "param")}} | {
        "code": status,
        "request_id": error["request_id"],
    }


def test_an_error_within_a_stream_has_mistrals_shape_too(mistral: FakeWorkerService) -> None:
    mistral.worker.failure = ModelFailure("the logits are not finite").info()
    try:
        with mistral.http() as http:
            lines = http.post(CHAT, json={"messages": MESSAGES, "stream": True}).text.splitlines()
    finally:
        mistral.worker.failure = None
    frames = [line.removeprefix("data: ") for line in lines if line.startswith("data: ")]
    assert frames[-1] == "[DONE]"
    error = json.loads(frames[-2])
    assert (error["type"], error["code"], error["error"]["code"]) == ("model_error", "500", 500)


def test_errors_of_other_profiles_are_nested_only(http: httpx.Client) -> None:
    assert [*http.post(CHAT, json={"messages": MESSAGES, "temperature": 9}).json()] == ["error"]

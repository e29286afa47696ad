"""The OpenAPI document describes every answer correctly, by `jsonschema`."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from cactus_actors.gateway.openapi.document import document
from tests.support.services.real_service import RealService
from tests.support.text.client_questions import CAPITAL, CLOCK, PLACE_FORMAT, STORY, WEATHER

jsonschema = pytest.importorskip("jsonschema", reason="the extra `clients` is not installed")

DOCUMENT = document()
BATCH_LINE = b'{"custom_id": "a", "method": "POST", "url": "/v1/completions", "body": {"prompt": "A fox"}}\n'

ASKED: list[tuple[str, str, dict[str, Any]]] = [
    ("post", "/v1/chat/completions", {"messages": CAPITAL}),
    ("post", "/v1/chat/completions", {"messages": CAPITAL, "logprobs": True, "top_logprobs": 2, "n": 2}),
    ("post", "/v1/chat/completions", {"messages": STORY, "response_format": PLACE_FORMAT, "stop": "zz"}),
    (
        "post",
        "/v1/chat/completions",
        {"messages": STORY, "tools": [WEATHER, CLOCK], "tool_choice": "required", "max_tokens": 120},
    ),
    ("post", "/v1/completions", {"prompt": "A fox", "max_tokens": 3, "logprobs": 2, "echo": True}),
    ("post", "/v1/completions", {"prompt": [["A", 300], [301]], "max_tokens": 3, "return_raw_tokens": True}),
    ("post", "/completion", {"prompt": "A fox", "n_predict": 3, "n_probs": 2, "return_tokens": True}),
    ("post", "/completion", {"prompt": ["A fox", "The sea"], "n_predict": 3}),
    ("post", "/v1/embeddings", {"input": ["A fox", "The sea"]}),
    ("post", "/v1/embeddings", {"input": "A fox", "encoding_format": "base64"}),
    ("get", "/v1/models", {}),
    ("post", "/tokenize", {"content": "A fox"}),
    ("post", "/tokenize", {"content": "é🌵", "with_pieces": True}),
    ("post", "/detokenize", {"tokens": [300, 301]}),
    ("post", "/apply-template", {"messages": CAPITAL}),
    ("get", "/health", {}),
    ("get", "/healthz", {}),
    ("get", "/readyz", {}),
]


def check(method: str, path: str, response: httpx.Response) -> Any:
    """Raise unless the document describes the answer; returns it."""
    responses = DOCUMENT["paths"][path][method]["responses"]
    schema = responses[str(response.status_code)]["content"]["application/json"]["schema"]
    answer = response.json()
    jsonschema.validate(answer, schema | {"components": DOCUMENT["components"]})
    return answer


@pytest.fixture(scope="module")
def http(service: RealService) -> Any:
    with httpx.Client(base_url=service.url, timeout=60) as http:
        yield http


@pytest.mark.parametrize(("method", "path", "body"), ASKED)
def test_valid_requests_get_the_documented_answers(
    http: httpx.Client, method: str, path: str, body: dict[str, Any]
) -> None:
    if method == "post":
        requested = DOCUMENT["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"]
        jsonschema.validate(body, requested | {"components": DOCUMENT["components"]})
    response = http.request(method, path, json=body or None)
    assert response.status_code == 200, response.text
    check(method, path, response)


def test_files_and_batches_are_as_documented(http: httpx.Client) -> None:
    sent = {"data": {"purpose": "batch"}, "files": {"file": ("lines.jsonl", BATCH_LINE)}}
    file = check("post", "/v1/files", http.post("/v1/files", **sent))
    check("get", "/v1/files", http.get("/v1/files", params={"limit": 1}))
    check("get", "/v1/files/{file_id}", http.get(f"/v1/files/{file['id']}"))
    asked = {"input_file_id": file["id"], "endpoint": "/v1/completions", "completion_window": "24h"}
    batch = check("post", "/v1/batches", http.post("/v1/batches", json=asked))
    check("get", "/v1/batches", http.get("/v1/batches"))
    check("post", "/v1/batches/{batch_id}/cancel", http.post(f"/v1/batches/{batch['id']}/cancel"))
    check("get", "/v1/batches/{batch_id}", http.get(f"/v1/batches/{batch['id']}"))


def test_requests_are_as_documented(http: httpx.Client) -> None:
    answered = http.post("/v1/completions", json={"prompt": "A fox", "max_tokens": 2})
    path = f"/v1/requests/{answered.headers['x-request-id']}"
    assert check("get", "/v1/requests/{request_id}", http.get(path))["state"] == "ended"
    check("delete", "/v1/requests/{request_id}", http.delete(path))


def test_a_refusal_is_as_documented(http: httpx.Client) -> None:
    response = http.post("/v1/completions", json={"prompt": "A fox", "temperature": 9})
    assert check("post", "/v1/completions", response)["error"]["param"] == "temperature"


def test_the_allow_header_lists_the_methods_of_a_path(http: httpx.Client) -> None:
    response = http.put("/v1/models")
    assert response.status_code == 405
    assert "GET" in response.headers["allow"]

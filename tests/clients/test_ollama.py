"""The `ollama` package, and its paths without it: chats, prompts, tools, embeddings, the list of models."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.support.services.real_service import RealService
from tests.support.text.client_questions import CAPITAL, MODEL, PLACE, STORY, WEATHER, check_place, check_weather

PARIS = "The capital of France is Paris."
GREEDY = {"temperature": 0, "num_ctx": 4096}


@pytest.fixture(scope="module")
def http(service: RealService) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=service.url, timeout=60) as client:
        yield client


def lines_of(response: httpx.Response) -> list[dict[str, Any]]:
    assert response.headers["content-type"] == "application/x-ndjson"
    assert response.text.endswith("\n")
    return [json.loads(line) for line in response.text.splitlines()]


def test_a_chat_is_streamed_as_lines_unless_it_says_otherwise(http: httpx.Client) -> None:
    body = {"model": f"{MODEL}:latest", "messages": CAPITAL, "options": GREEDY}
    *parts, last = lines_of(http.post("/api/chat", json=body))
    assert "".join(part["message"]["content"] for part in [*parts, last]) == PARIS
    assert [part["done"] for part in parts] == [False] * len(parts)
    assert (last["done"], last["done_reason"], last["model"]) == (True, "stop", MODEL)
    whole = http.post("/api/chat", json=body | {"stream": False}).json()
    assert whole["message"] == {"role": "assistant", "content": PARIS}
    assert (whole["eval_count"], whole["prompt_eval_count"]) == (last["eval_count"], last["prompt_eval_count"])
    assert whole["total_duration"] >= whole["eval_duration"] > 0
    assert whole["handoff"]["status"] == "none"


def test_a_prompt_is_a_chat_unless_it_is_raw(http: httpx.Client) -> None:
    body = {"model": MODEL, "prompt": CAPITAL[0]["content"], "options": GREEDY, "stream": False}
    assert http.post("/api/generate", json=body).json()["response"] == PARIS
    *parts, last = lines_of(http.post("/api/generate", json=body | {"stream": True}))
    assert "".join(part["response"] for part in [*parts, last]) == PARIS
    raw = http.post("/api/generate", json=body | {"raw": True, "options": GREEDY | {"num_predict": 5}}).json()
    completed = {"prompt": body["prompt"], "max_tokens": 5, "temperature": 0}
    completion = http.post("/v1/completions", json=completed).json()
    assert raw["response"] == completion["choices"][0]["text"]
    assert raw["eval_count"] == completion["usage"]["completion_tokens"]


def test_calls_of_tools_are_whole_and_their_results_are_read(http: httpx.Client) -> None:
    question = [{"role": "user", "content": "What is the weather in Paris in celsius?"}]
    body = {"model": MODEL, "messages": question, "tools": [WEATHER], "options": GREEDY}
    whole = http.post("/api/chat", json=body | {"stream": False}).json()["message"]
    [call] = whole["tool_calls"]
    check_weather(call["function"]["name"], json.dumps(call["function"]["arguments"]))
    lines = lines_of(http.post("/api/chat", json=body))
    assert [line["message"]["tool_calls"] for line in lines if "tool_calls" in line["message"]] == [[call]]
    turns = [*question, whole, {"role": "tool", "tool_name": "get_weather", "content": '{"degrees": 9}'}]
    assert http.post("/api/chat", json=body | {"messages": turns, "stream": False}).json()["done"]


def test_an_answer_obeys_a_format(http: httpx.Client) -> None:
    body = {"model": MODEL, "messages": STORY, "format": PLACE, "stream": False, "options": GREEDY}
    check_place(http.post("/api/chat", json=body).json()["message"]["content"])


def test_embeddings_are_those_of_the_other_path(http: httpx.Client) -> None:
    texts = ["a cat", "a dog"]
    expected = [it["embedding"] for it in http.post("/v1/embeddings", json={"input": texts}).json()["data"]]
    embedded = http.post("/api/embed", json={"model": MODEL, "input": texts}).json()
    assert embedded["embeddings"] == expected
    assert embedded["prompt_eval_count"] > 0
    assert http.post("/api/embeddings", json={"model": MODEL, "prompt": "a cat"}).json()["embedding"] == expected[0]


def test_models_are_listed_and_described(http: httpx.Client) -> None:
    [listed] = http.get("/api/tags").json()["models"]
    assert (listed["name"], bool(listed["digest"])) == (MODEL, True)
    assert [model["name"] for model in http.get("/api/ps").json()["models"]] == [MODEL]
    shown = http.post("/api/show", json={"model": MODEL}).json()
    assert shown["capabilities"] == ["completion", "embedding", "tools"]
    assert shown["model_info"]["cactus.context_length"] == 1024
    assert http.get("/api/version").json()["version"].count(".") == 2


def test_a_body_without_a_question_loads_the_model(http: httpx.Client) -> None:
    loaded = http.post("/api/generate", json={"model": MODEL}).json()
    assert (loaded["done"], loaded["done_reason"], loaded["response"]) == (True, "load", "")
    assert http.post("/api/chat", json={"model": MODEL, "messages": []}).json()["done_reason"] == "load"


@pytest.mark.parametrize(
    ("path", "body", "param"),
    [
        ("/api/chat", {"messages": [{"role": "user", "content": 3}]}, "messages[0].content"),
        ("/api/chat", {"messages": CAPITAL, "options": {"num_predict": -7}}, "num_predict"),
        ("/api/chat", {"messages": CAPITAL, "format": "xml"}, "format"),
        ("/api/chat", {"messages": CAPITAL, "think": "utterly"}, "think"),
        ("/api/generate", {"prompt": "a", "template": "{{ .Prompt }}"}, "template"),
        ("/api/generate", {"prompt": "a", "images": ["iVBO"]}, "images"),
        ("/api/embed", {"input": []}, "input"),
    ],
)
def test_errors_are_words_with_the_field_beside_them(
    http: httpx.Client, path: str, body: dict[str, Any], param: str
) -> None:
    response = http.post(path, json={"model": MODEL} | body)
    error = response.json()
    assert (response.status_code, error["param"]) == (400, param)
    assert isinstance(error["error"], str)


def test_pulling_a_model_names_what_there_is(http: httpx.Client) -> None:
    error = http.post("/api/pull", json={"model": "x"}).json()
    assert "nothing like it here" in error["error"]


def test_its_own_package(service: RealService) -> None:
    ollama = pytest.importorskip("ollama", reason="the extra `clients` is not installed")
    asked: dict[str, Any] = {"model": MODEL, "messages": CAPITAL, "options": GREEDY}
    with ollama.Client(host=service.url) as client:
        check_package(ollama, client, asked)


def check_package(ollama: Any, client: Any, asked: dict[str, Any]) -> None:
    assert client.chat(**asked).message.content == PARIS
    assert "".join(part.message.content or "" for part in client.chat(**asked, stream=True)) == PARIS
    assert client.generate(model=MODEL, prompt=CAPITAL[0]["content"], options=GREEDY).response == PARIS
    assert len(client.embed(model=MODEL, input=["a", "b"]).embeddings) == 2
    assert [model.model for model in client.list().models] == [MODEL]
    assert "tools" in (client.show(MODEL).capabilities or [])
    with pytest.raises(ollama.ResponseError, match="temperature"):
        client.chat(**asked | {"options": {"temperature": 9}})

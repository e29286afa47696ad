"""Strict tools over HTTP with a real model of random weights: its calls obey their schemas."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.support.services.thinking_service import MARKS, OPENS_ITSELF, thinking_service

CHAT = "/v1/chat/completions"
TELLS_TOOLS = (
    "{% if tools %}{{ tools | tojson }}<tool_call>\n{}\n</tool_call>{% endif %}"
    "{% for m in messages if m.tool_calls or m.role == 'tool' %}{{ m.tool_calls or m.content }}{% endfor %}"
)
CALL = 258
"""The control token that opens a call."""
ASKED: dict[str, Any] = {
    "messages": [{"role": "user", "content": "Weather?"}],
    "temperature": 1.5,
    "max_tokens": 200,
    "thinking_budget": 5,
    "logit_bias": {CALL: 30},
}


def tool(**fields: Any) -> dict[str, Any]:
    parameters = {
        "type": "object",
        "properties": {"city": {"enum": ["Paris", "Rome"]}, "days": {"type": "integer", "maximum": 9}},
        "required": ["city", "days"],
        "additionalProperties": False,
    }
    return {"type": "function", "function": {"name": "weather", "parameters": parameters, **fields}}


@pytest.fixture(scope="module")
def http(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    marks = (*MARKS, "<tool_call>", "</tool_call>")
    directory = tmp_path_factory.mktemp("strict")
    with thinking_service(directory, TELLS_TOOLS + OPENS_ITSELF, marks) as service, service.http() as client:
        yield client


def answer(http: httpx.Client, **fields: Any) -> dict[str, Any]:
    response = http.post(CHAT, json={**ASKED, "tools": [tool(strict=True)], **fields})
    assert response.status_code == 200, response.text
    choice: dict[str, Any] = response.json()["choices"][0]
    return choice


def arguments_of(calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [json.loads(call["function"]["arguments"]) for call in calls]


def check(arguments: dict[str, Any]) -> None:
    assert arguments.keys() == {"city", "days"}
    assert arguments["city"] in ("Paris", "Rome")
    assert arguments["days"] <= 9


def test_unforced_calls_obey_their_schemas(http: httpx.Client) -> None:
    num_calls = 0
    for seed in range(4):
        choice = answer(http, seed=seed)
        assert choice["message"]["reasoning_content"]
        calls = choice["message"]["tool_calls"]
        is_cut = choice["finish_reason"] == "length"  # it may be in the middle of the last call
        whole = arguments_of(calls[:-1] if is_cut else calls)
        for arguments in whole:
            check(arguments)
        num_calls += len(whole)
    assert num_calls > 4


def test_without_parallel_calls_there_is_one_call(http: httpx.Client) -> None:
    for seed in range(2):
        [arguments] = arguments_of(answer(http, seed=seed, parallel_tool_calls=False)["message"]["tool_calls"])
        check(arguments)


def test_without_strict_the_same_model_violates_the_schemas(http: httpx.Client) -> None:
    assert "tool_calls" not in answer(http, seed=0, tools=[tool()])["message"]


def test_a_text_without_a_call_is_unconstrained(http: httpx.Client) -> None:
    message = answer(http, logit_bias={CALL: -100}, max_tokens=60, seed=3)["message"]
    assert "tool_calls" not in message
    assert message["content"]


def test_streamed_calls_equal_complete_ones(http: httpx.Client) -> None:
    body = {**ASKED, "tools": [tool(strict=True)], "seed": 1, "parallel_tool_calls": False}
    whole = answer(http, **body)
    response = http.post(CHAT, json={**body, "stream": True})
    lines = [line.removeprefix("data: ") for line in response.text.splitlines() if line.startswith("data: {")]
    deltas = [json.loads(line)["choices"][0]["delta"] for line in lines]
    told = [call["function"] for delta in deltas for call in delta.get("tool_calls") or ()]
    [call] = whole["message"]["tool_calls"]
    assert "".join(one.get("name") or "" for one in told) == call["function"]["name"]
    assert "".join(one.get("arguments") or "" for one in told) == call["function"]["arguments"]


def test_unsupported_strict_schemas_are_refused(http: httpx.Client) -> None:
    def refused(one: dict[str, Any]) -> dict[str, Any]:
        response = http.post(CHAT, json={**ASKED, "tools": [one]})
        assert response.status_code == 400, response.text
        error: dict[str, Any] = response.json()["error"]
        return error

    unique = {"type": "object", "properties": {"a": {"type": "array", "uniqueItems": True}}}
    error = refused(tool(strict=True, parameters=unique))
    assert error["param"] == "tools"
    assert "uniqueItems" in error["message"]
    assert refused(tool(strict="yes"))["param"] == "tools[0].function.strict"

"""Reasoning over HTTP and ZeroMQ with a real model of random weights: budgets, formats, calls, streams."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.support.services.fake_worker_service import FakeWorkerService
from tests.support.services.thinking_service import thinking_service

CHAT = "/v1/chat/completions"
ASKED: dict[str, Any] = {
    "messages": [{"role": "user", "content": "What is 2 + 2?"}],
    "temperature": 1.0,
    "seed": 5,
    "max_tokens": 40,
    "thinking_budget": 9,
}
YEAR = {**ASKED, "regex": "[0-9]{4}"}
WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "parameters": {
            "type": "object",
            "properties": {"city": {"enum": ["Paris", "Rome"]}},
            "required": ["city"],
        },
    },
}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeWorkerService]:
    with thinking_service(tmp_path_factory.mktemp("thinking")) as service:
        yield service


def answer(http: httpx.Client, body: dict[str, Any]) -> dict[str, Any]:
    response = http.post(CHAT, json=body)
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()
    return found


def events(http: httpx.Client, body: dict[str, Any], **headers: str) -> list[tuple[str, dict[str, Any]]]:
    """Id and content of each event of a stream except its end."""
    response = http.post(CHAT, json={**body, "stream": True}, headers=headers)
    assert response.text.endswith("data: [DONE]\n\n"), response.text
    found = re.findall(r"(?:id: (.*)\n)?data: (\{.*\})\n(?:id: (.*)\n)?\n", response.text)
    return [(before or behind, json.loads(data)) for before, data, behind in found]


def parts(chunks: list[dict[str, Any]]) -> tuple[str, str, str]:
    """Reasoning, content and finish reason of a stream."""
    choices = [choice for chunk in chunks for choice in chunk["choices"]]
    reasoning = "".join(choice["delta"].get("reasoning_content", "") for choice in choices)
    content = "".join(choice["delta"].get("content") or "" for choice in choices)
    return reasoning, content, choices[-1]["finish_reason"]


def streamed(http: httpx.Client, body: dict[str, Any]) -> tuple[str, str, str]:
    return parts([data for _, data in events(http, body)])


def whole(body: dict[str, Any]) -> tuple[str, str, str]:
    [choice] = body["choices"]
    message = choice["message"]
    assert message.get("reasoning") == message.get("reasoning_content")
    return message.get("reasoning_content", ""), message["content"], choice["finish_reason"]


def test_a_response_format_begins_after_reasoning_that_a_budget_ends(
    service: FakeWorkerService, http: httpx.Client
) -> None:
    body = answer(http, YEAR)
    reasoning, content, finish = whole(body)
    assert re.fullmatch("[0-9]{4}", content)
    assert finish == "stop"
    assert reasoning
    usage = body["usage"]
    assert usage["completion_tokens_details"] == {"reasoning_tokens": 10}, "the mark is one token"
    assert usage["completion_tokens"] in (14, 15)
    assert 0 < body["confidence"] < 1
    assert streamed(http, YEAR) == (reasoning, content, finish)
    with service.client() as client:
        result = client.complete(**YEAR)
        deltas = list(client.stream(**YEAR))
    assert (result.reasoning_content, result.text) == (reasoning, content)
    assert "".join(delta.reasoning_content for delta in deltas) == reasoning
    assert "".join(delta.text for delta in deltas) == content
    close_id = service.text.tokenizer.id_of("</think>")
    assert result.token_ids[9] == close_id
    assert result.token_ids.count(close_id) == 1


@pytest.mark.parametrize("budget", [0, 1, 20])
def test_the_budget_is_exact(http: httpx.Client, budget: int) -> None:
    body = answer(http, {**YEAR, "thinking_budget": budget})
    num_tokens = body["usage"]["completion_tokens_details"]["reasoning_tokens"]
    if budget == 0:
        assert num_tokens == 0, "the prompt closed it"
    else:
        assert budget + 1 <= num_tokens <= budget + 4, "a character may be ended"
    assert re.fullmatch("[0-9]{4}", whole(body)[1])


def test_without_thinking_the_response_format_begins_at_once(http: httpx.Client) -> None:
    for switch in ({"enable_thinking": False}, {"chat_template_kwargs": {"enable_thinking": False}}):
        body = answer(http, {**YEAR, "thinking_budget": None, **switch})
        reasoning, content, _ = whole(body)
        assert (reasoning, body["usage"]["completion_tokens_details"]["reasoning_tokens"]) == ("", 0)
        assert re.fullmatch("[0-9]{4}", content)


def test_a_call_is_forced_after_the_reasoning(http: httpx.Client) -> None:
    asked = {**ASKED, "tools": [WEATHER], "tool_choice": "required", "max_tokens": 120}
    body = answer(http, asked)
    [choice] = body["choices"]
    assert choice["finish_reason"] == "tool_calls"
    assert choice["message"]["reasoning_content"]
    call = choice["message"]["tool_calls"][0]["function"]
    assert (call["name"], json.loads(call["arguments"])["city"] in ("Paris", "Rome")) == ("weather", True)
    chunks = [data for _, data in events(http, asked)]
    assert parts(chunks)[0] == choice["message"]["reasoning_content"]


def test_reasoning_that_max_tokens_cuts_off_has_no_answer(http: httpx.Client) -> None:
    body = answer(http, {**ASKED, "thinking_budget": None, "max_tokens": 7})
    reasoning, content, finish = whole(body)
    assert (content, finish, body["usage"]["completion_tokens_details"]) == (
        "",
        "length",
        {"reasoning_tokens": 7},
    )
    assert reasoning
    assert (body["confidence"], body["accepted"]) == (None, False)


def test_every_token_has_its_log_probability(http: httpx.Client) -> None:
    body = answer(http, {**YEAR, "logprobs": True})
    content = body["choices"][0]["logprobs"]["content"]
    assert len(content) == body["usage"]["completion_tokens"]
    chunks = [data for _, data in events(http, {**YEAR, "logprobs": True})]
    told = [choice["logprobs"] for chunk in chunks for choice in chunk["choices"] if choice["logprobs"]]
    assert [one for part in told for one in part["content"]] == content


@pytest.mark.parametrize(("form", "inline", "apart"), [("none", True, False), ("deepseek-legacy", True, True)])
def test_reasoning_formats_of_llama_cpp(http: httpx.Client, form: str, inline: bool, apart: bool) -> None:
    reasoning, content, _ = whole(answer(http, YEAR))
    asked = {**YEAR, "reasoning_format": form}
    told = whole(answer(http, asked))
    assert told[0] == (reasoning if apart else "")
    assert told[1] == (f"<think>\n{reasoning}\n</think>\n\n{content}" if inline else content)
    assert streamed(http, asked) == told
    hidden = whole(answer(http, {**YEAR, "reasoning": {"exclude": True}}))
    assert hidden[:2] == ("", content)


def test_a_stream_resumes_after_any_of_its_events(http: httpx.Client) -> None:
    key = {"Idempotency-Key": "thought-through"}
    first = events(http, YEAR, **key)
    assert [data for name, data in first if name], "its events have ids"
    for place, (name, _) in enumerate(first):
        if name:
            rest = events(http, YEAR, **key, **{"Last-Event-ID": name})
            assert parts([data for _, data in first[: place + 1] + rest]) == parts([data for _, data in first])


def test_concurrent_jobs_change_no_token_of_a_reasoning_job(http: httpx.Client) -> None:
    bodies = [
        {**ASKED, "seed": seed, "thinking_budget": budget, **form}
        for seed in (1, 2)
        for budget in (3, 11)
        for form in ({}, {"regex": "[a-z]{5}"})
    ]
    alone = [whole(answer(http, body)) for body in bodies]
    with ThreadPoolExecutor(len(bodies)) as pool:
        together = list(pool.map(lambda body: whole(answer(http, body)), bodies))
    assert together == alone


def test_earlier_reasoning_is_in_the_rendered_prompt(http: httpx.Client) -> None:
    turns = [
        *ASKED["messages"],
        {"role": "assistant", "content": "4", "reasoning": "2 and 2"},
        ASKED["messages"][0],
    ]
    prompt = http.post("/apply-template", json={"messages": turns}).json()["prompt"]
    assert "<assistant>(2 and 2)4<user>" in prompt
    assert prompt.endswith("<me>\n<think>\n")
    closed = http.post("/apply-template", json={"messages": turns, "enable_thinking": False}).json()["prompt"]
    assert closed.endswith("<me>\n<think>\n\n</think>\n\n")


def test_reasoning_is_not_split_off_for_a_raw_prompt(http: httpx.Client) -> None:
    body = {"prompt": "<think>", "max_tokens": 5, "temperature": 1.0, "seed": 1}
    answered = http.post("/v1/completions", json=body).json()
    assert answered["usage"]["completion_tokens_details"] == {"reasoning_tokens": 0}
    refused = http.post("/v1/completions", json={**body, "thinking_budget": 5})
    assert (refused.status_code, refused.json()["error"]["param"]) == (400, "thinking_budget")


def test_a_response_has_its_reasoning_as_an_item(http: httpx.Client) -> None:
    asked = {name: value for name, value in YEAR.items() if name not in ("messages", "max_tokens")}
    body = asked | {"input": "What is 2 + 2?", "max_output_tokens": 40}
    reasoning, content, _ = whole(answer(http, YEAR))
    response = http.post("/v1/responses", json=body).json()
    thought, message = response["output"]
    assert (thought["type"], thought["content"]) == ("reasoning", [{"type": "reasoning_text", "text": reasoning}])
    assert (message["type"], message["content"][0]["text"]) == ("message", content)
    assert response["usage"]["output_tokens_details"]["reasoning_tokens"] > 0
    text = http.post("/v1/responses", json=body | {"stream": True}).text
    told = [json.loads(line.removeprefix("data: ")) for line in text.split("\n") if line.startswith("data: ")]
    deltas = [event["delta"] for event in told if event["type"] == "response.reasoning_text.delta"]
    assert "".join(deltas) == reasoning
    ended = told[-1]["response"]
    assert [item["content"] for item in ended["output"]] == [item["content"] for item in response["output"]]
    assert http.get(f"/v1/responses/{ended['id']}", params={"stream": "true"}).text == text
    turns = [{"role": "user", "content": "What is 2 + 2?"}, thought, message, {"role": "user", "content": "And 3 + 3?"}]
    by_items = http.post("/v1/responses/input_tokens", json={"input": turns}).json()["input_tokens"]
    more = body | {"input": "And 3 + 3?", "previous_response_id": response["id"]}
    assert http.post("/v1/responses", json=more).json()["usage"]["input_tokens"] == by_items

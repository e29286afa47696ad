"""The `cerebras-cloud-sdk` package: both endpoints with Cerebras's profile, and its grammar roots."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.services.real_service import KEY, RealService
from tests.support.text.client_questions import (
    CAPITAL,
    MODEL,
    PLACE_FORMAT,
    STORY,
    WEATHER,
    check_place,
    check_weather,
)

cerebras = pytest.importorskip("cerebras.cloud.sdk", reason="the extra `clients` is not installed")

ENDLESS = {"model": MODEL, "prompt": "Once", "min_tokens": -1, "max_tokens": 900}


def connect(url: str, **options: Any) -> cerebras.Cerebras:
    options = {"api_key": "no-key", "max_retries": 0, "timeout": 60, "warm_tcp_connection": False} | options
    return cerebras.Cerebras(base_url=url, **options)


@pytest.fixture(scope="module")
def client(service: RealService) -> Iterator[cerebras.Cerebras]:
    url = service.start_gateway(chat_profile="cerebras", completions_profile="cerebras")
    with connect(url) as client:
        yield client


def ask(client: cerebras.Cerebras, **options: Any) -> Any:
    return client.chat.completions.create(**{"model": MODEL, "messages": CAPITAL, "temperature": 0} | options)


def test_chat_complete_and_streamed(client: cerebras.Cerebras) -> None:
    whole = ask(client)
    assert whole.choices[0].message.content == "The capital of France is Paris."
    chunks = list(ask(client, stream=True))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == ("The capital of France is Paris.")
    assert chunks[-1].choices[0].finish_reason == "stop"


def test_completions_complete_and_streamed(client: cerebras.Cerebras) -> None:
    asked = {"model": MODEL, "prompt": ["The sea", "A fox"], "seed": 3, "max_tokens": 12, "echo": True}
    whole = client.completions.create(**asked)
    assert [choice.text[:5] for choice in whole.choices] == ["The s", "A fox"]
    texts = ["", ""]
    for chunk in client.completions.create(**asked, stream=True):
        for choice in chunk.choices:
            texts[choice.index] += choice.text
    assert texts == [choice.text for choice in whole.choices]


def test_raw_tokens(client: cerebras.Cerebras) -> None:
    asked = {"model": MODEL, "prompt": "A fox", "return_raw_tokens": True, "max_tokens": 5}
    [choice] = client.completions.create(**asked, seed=1).choices
    assert (choice.text, len(choice.tokens)) == ("", 5)
    with pytest.raises(cerebras.BadRequestError, match="echo"):
        client.completions.create(**asked, echo=True)


def test_logprobs_in_both_endpoints(client: cerebras.Cerebras) -> None:
    said = ask(client, logprobs=True, top_logprobs=3).choices[0].logprobs.content
    assert all(len(token.top_logprobs) == 3 for token in said)
    [choice] = client.completions.create(
        model=MODEL, prompt="A fox", logprobs=True, max_tokens=4, seed=1, extra_body={"top_logprobs": 2}
    ).choices
    assert len(choice.logprobs.tokens) == 4
    assert choice.logprobs.text_offset[0] == len("A fox")  # Cerebras counts from the beginning of the prompt


@pytest.mark.parametrize("root", ["object", "array", "string", "number", "value"])
def test_a_grammar_root_is_json(client: cerebras.Cerebras, root: str) -> None:
    kinds = {"object": dict, "array": list, "string": str, "number": int | float, "value": object}
    answer = client.completions.create(
        model=MODEL, prompt="A fox", grammar_root=root, max_tokens=200, seed=5, temperature=0.2
    )
    [choice] = answer.choices
    if choice.finish_reason == "stop":
        assert isinstance(json.loads(choice.text), kinds[root])
    else:
        assert choice.text[0] in {"object": "{", "array": "[", "string": '"'}.get(root, '-0123456789{["tfn')


def test_tools_and_response_formats(client: cerebras.Cerebras) -> None:
    answer = ask(client, tools=[WEATHER], tool_choice="required", parallel_tool_calls=False, max_tokens=120)
    [call] = answer.choices[0].message.tool_calls
    check_weather(call.function.name, call.function.arguments)
    streamed = ask(client, tools=[WEATHER], tool_choice="required", max_tokens=120, stream=True)
    calls = [call for chunk in streamed for call in chunk.choices[0].delta.tool_calls or []]
    assert calls
    check_weather(calls[0].function.name, calls[0].function.arguments)
    check_place(ask(client, messages=STORY, response_format=PLACE_FORMAT, seed=2).choices[0].message.content)


def test_models(client: cerebras.Cerebras) -> None:
    assert [model.id for model in client.models.list().data] == [MODEL]
    assert client.models.retrieve(MODEL).id == MODEL


def test_refusals(client: cerebras.Cerebras, guarded_url: str, full_url: str, empty_url: str) -> None:
    with pytest.raises(cerebras.BadRequestError, match="temperature"):
        ask(client, temperature=1.8)  # more than Cerebras accepts
    with pytest.raises(cerebras.NotFoundError):
        client.models.retrieve("other")
    with connect(guarded_url) as other, pytest.raises(cerebras.AuthenticationError):
        ask(other)
    with connect(guarded_url, api_key=KEY) as other:
        assert ask(other).choices
    with connect(full_url) as other, pytest.raises(cerebras.RateLimitError):
        ask(other)
    with connect(empty_url) as other, pytest.raises(cerebras.InternalServerError) as refused:
        ask(other)
    assert refused.value.status_code == 503


def test_timeouts_and_closed_streams_leave_nothing_behind(client: cerebras.Cerebras, service: RealService) -> None:
    with pytest.raises(cerebras.APITimeoutError):
        client.completions.create(**ENDLESS, timeout=0.3)
    service.becomes_idle()
    stream = client.completions.create(**ENDLESS, stream=True)
    next(stream)
    stream.close()
    service.becomes_idle()

"""`litellm`, which converts every answer to its own types: as an OpenAI-compatible and as a text endpoint."""

from __future__ import annotations

import os
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

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # it would fetch a price list when it is imported
openai = pytest.importorskip("openai", reason="the extra `clients` is not installed")
litellm = pytest.importorskip("litellm", reason="the extra `clients` is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")  # its own warnings, those of pydantic and of asyncio


def ask(url: str, **options: Any) -> Any:
    asked = {"messages": CAPITAL, "temperature": 0, "api_key": "no-key", "max_retries": 0, "timeout": 60}
    return litellm.completion(model=f"openai/{MODEL}", **{"api_base": f"{url}/v1"} | asked | options)


def test_chat_complete_and_streamed(service: RealService) -> None:
    whole = ask(service.url)
    assert whole.choices[0].message.content == "The capital of France is Paris."
    assert whole.usage.total_tokens == whole.usage.prompt_tokens + whole.usage.completion_tokens
    chunks = list(ask(service.url, stream=True, stream_options={"include_usage": True}))
    rebuilt = litellm.stream_chunk_builder(chunks, messages=CAPITAL)
    assert rebuilt.choices[0].message.content == whole.choices[0].message.content
    assert rebuilt.usage.completion_tokens == whole.usage.completion_tokens


async def test_the_asynchronous_function(service: RealService) -> None:
    async with openai.AsyncOpenAI(base_url=f"{service.url}/v1", api_key="no-key") as client:
        answer = await litellm.acompletion(model=f"openai/{MODEL}", client=client, messages=CAPITAL, temperature=0)
    assert answer.choices[0].message.content == "The capital of France is Paris."


def test_text_completions(service: RealService) -> None:
    asked = {"api_base": f"{service.url}/v1", "api_key": "no-key", "max_tokens": 8, "seed": 1}
    model = f"text-completion-openai/{MODEL}"
    answer = litellm.text_completion(model=model, prompt=["The sea", "A fox"], echo=True, **asked)
    assert [choice.text[:5] for choice in answer.choices] == ["The s", "A fox"]


def test_tools_and_response_formats(service: RealService) -> None:
    answer = ask(service.url, tools=[WEATHER], tool_choice="required", max_tokens=120)
    [call, *_] = answer.choices[0].message.tool_calls
    check_weather(call.function.name, call.function.arguments)
    chunks = list(ask(service.url, tools=[WEATHER], tool_choice="required", max_tokens=120, stream=True))
    [call, *_] = litellm.stream_chunk_builder(chunks).choices[0].message.tool_calls
    check_weather(call.function.name, call.function.arguments)
    answer = ask(service.url, messages=STORY, response_format=PLACE_FORMAT, seed=3)
    check_place(answer.choices[0].message.content)


def test_embeddings(service: RealService) -> None:
    answer = litellm.embedding(
        model=f"openai/{MODEL}", input=["The sea."], api_base=f"{service.url}/v1", api_key="no-key"
    )
    assert len(answer.data[0]["embedding"]) > 0


def test_refusals(service: RealService, guarded_url: str, full_url: str, empty_url: str) -> None:
    with pytest.raises(litellm.BadRequestError, match="temperature"):
        ask(service.url, temperature=9)
    with pytest.raises(litellm.NotFoundError):
        ask(service.url, api_base=f"{service.url}/v2")
    with pytest.raises(litellm.AuthenticationError):
        ask(guarded_url)
    assert ask(guarded_url, api_key=KEY).choices
    with pytest.raises(litellm.RateLimitError):
        ask(full_url)
    with pytest.raises(litellm.ServiceUnavailableError):
        ask(empty_url)


def test_timeouts_and_closed_streams_leave_nothing_behind(service: RealService) -> None:
    endless = {"messages": STORY, "max_tokens": 900, "extra_body": {"ignore_eos": True}}
    with pytest.raises(litellm.Timeout):
        ask(service.url, **endless, timeout=0.3)
    service.becomes_idle()
    stream = ask(service.url, **endless, stream=True)
    next(stream)
    stream.completion_stream.close()
    service.becomes_idle()

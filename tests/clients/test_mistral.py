"""The `mistralai` package: the chat endpoint with Mistral's profile, in its own fields and types."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.services.real_service import KEY, RealService
from tests.support.text.client_questions import CAPITAL, MODEL, PLACE, STORY, WEATHER, check_place, check_weather

mistral = pytest.importorskip("mistralai.client", reason="the extra `clients` is not installed")


@pytest.fixture(scope="module")
def client(service: RealService) -> Iterator[mistral.Mistral]:
    url = service.start_gateway(chat_profile="mistral")
    with mistral.Mistral(server_url=url, api_key="no-key", timeout_ms=60_000) as client:
        yield client


def ask(client: mistral.Mistral, **options: Any) -> Any:
    return client.chat.complete(**{"model": MODEL, "messages": CAPITAL, "temperature": 0} | options)


def test_chat(client: mistral.Mistral) -> None:
    answer = ask(client)
    [choice] = answer.choices
    assert (choice.message.role, choice.message.content) == ("assistant", "The capital of France is Paris.")
    assert choice.finish_reason == "stop"
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens


async def test_the_asynchronous_methods(service: RealService) -> None:
    async with mistral.Mistral(server_url=service.url, api_key="no-key") as client:
        answer = await client.chat.complete_async(model=MODEL, messages=CAPITAL, temperature=0)
    assert answer.choices[0].message.content == "The capital of France is Paris."


def test_a_stream_ends_with_its_usage(client: mistral.Mistral) -> None:
    asked = {"model": MODEL, "messages": STORY, "random_seed": 3, "max_tokens": 40}
    whole = client.chat.complete(**asked)
    with client.chat.stream(**asked) as stream:
        chunks = [event.data for event in stream]
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    assert text == whole.choices[0].message.content
    last = chunks[-1]
    assert last.choices[0].finish_reason == whole.choices[0].finish_reason
    assert last.usage.completion_tokens == whole.usage.completion_tokens


def test_equal_seeds_give_equal_answers(client: mistral.Mistral) -> None:
    def said(seed: int) -> str:
        answer = ask(client, messages=STORY, random_seed=seed, max_tokens=20, temperature=0.7)
        return str(answer.choices[0].message.content)

    assert said(7) == said(7) != said(8)


def test_several_choices_and_stops(client: mistral.Mistral) -> None:
    answer = ask(client, messages=STORY, n=2, temperature=0.7, stop=["."], random_seed=1)
    assert [choice.index for choice in answer.choices] == [0, 1]
    assert not any("." in choice.message.content for choice in answer.choices)


def test_the_safe_prompt_is_a_system_message(client: mistral.Mistral) -> None:
    plain, safe = (ask(client, safe_prompt=value, max_tokens=5) for value in (False, True))
    assert safe.usage.prompt_tokens > plain.usage.prompt_tokens + 20


def test_a_reasoning_prompt_needs_a_model_that_has_one(client: mistral.Mistral) -> None:
    with pytest.raises(mistral.errors.SDKError, match="prompt_mode"):
        ask(client, prompt_mode="reasoning")


def test_a_prefix_is_continued(client: mistral.Mistral) -> None:
    begun = [*CAPITAL, {"role": "assistant", "content": "The capital of France", "prefix": True}]
    answer = ask(client, messages=begun)
    assert answer.choices[0].message.content == "The capital of France is Paris."


def test_the_end_of_the_context_has_its_own_finish_reason(client: mistral.Mistral) -> None:
    long = [{"role": "user", "content": "one two three " * 330}]
    answer = ask(client, messages=long, min_tokens=500)
    assert answer.choices[0].finish_reason == "model_length"
    assert answer.usage.total_tokens >= 1023
    with pytest.raises(mistral.errors.SDKError, match="max_tokens"):
        ask(client, max_tokens=2000)


@pytest.mark.parametrize("choice", ["any", "required", {"type": "function", "function": {"name": "get_weather"}}])
def test_a_forced_call(client: mistral.Mistral, choice: Any) -> None:
    answer = ask(client, tools=[WEATHER], tool_choice=choice, parallel_tool_calls=False, random_seed=1, max_tokens=120)
    [said] = answer.choices
    assert said.finish_reason == "tool_calls"
    [call] = said.message.tool_calls
    check_weather(call.function.name, call.function.arguments)
    result = {"role": "tool", "name": "get_weather", "tool_call_id": call.id, "content": "sunny"}
    ended = ask(client, messages=[*CAPITAL, said.message, result], max_tokens=10)
    assert ended.choices[0].message.content


def test_a_call_streams(client: mistral.Mistral) -> None:
    with client.chat.stream(
        model=MODEL, messages=STORY, tools=[WEATHER], tool_choice="any", max_tokens=120, random_seed=2
    ) as stream:
        deltas = [event.data.choices[0].delta for event in stream]
    calls = [call for delta in deltas for call in delta.tool_calls or []]
    assert calls
    for call in calls:
        check_weather(call.function.name, call.function.arguments)


def test_response_formats(client: mistral.Mistral) -> None:
    form = {"type": "json_schema", "json_schema": {"name": "place", "schema": PLACE, "strict": True}}
    for seed in range(3):
        answer = ask(client, messages=STORY, response_format=form, random_seed=seed, temperature=1.5)
        check_place(answer.choices[0].message.content)
    loose = ask(client, messages=STORY, response_format={"type": "json_object"}, max_tokens=20)
    assert loose.choices[0].message.content.lstrip().startswith("{")


def test_parse_makes_a_pydantic_model(client: mistral.Mistral) -> None:
    from typing import Literal

    from pydantic import BaseModel, Field

    class Place(BaseModel):
        name: str = Field(max_length=12)
        kind: Literal["city", "river"]

    answer = client.chat.parse(Place, model=MODEL, messages=STORY, random_seed=2)
    assert isinstance(answer.choices[0].message.parsed, Place)


def test_embeddings(client: mistral.Mistral) -> None:
    answer = client.embeddings.create(model=MODEL, inputs=["The sea.", "A fox."])
    assert [one.index for one in answer.data] == [0, 1]
    assert len(answer.data[0].embedding) == len(answer.data[1].embedding) > 0


def test_models(client: mistral.Mistral) -> None:
    assert [model.id for model in client.models.list().data] == [MODEL]
    assert client.models.retrieve(model_id=MODEL).id == MODEL


def test_refusals(client: mistral.Mistral, guarded_url: str, full_url: str, empty_url: str) -> None:
    with pytest.raises(mistral.errors.SDKError, match="temperature") as refused:
        ask(client, temperature=3)
    assert refused.value.status_code == 400
    with pytest.raises(mistral.errors.SDKError) as missing:
        client.models.retrieve(model_id="other")
    assert missing.value.status_code == 404
    for url, status in ((guarded_url, 401), (full_url, 429), (empty_url, 503)):
        with (
            mistral.Mistral(server_url=url, api_key="wrong") as other,
            pytest.raises(mistral.errors.SDKError) as failed,
        ):
            ask(other)
        assert failed.value.status_code == status
    with mistral.Mistral(server_url=guarded_url, api_key=KEY) as keyed:
        assert ask(keyed).choices


def test_a_closed_stream_leaves_nothing_behind(client: mistral.Mistral, service: RealService) -> None:
    with client.chat.stream(model=MODEL, messages=STORY, min_tokens=500) as stream:
        next(iter(stream))
    service.becomes_idle()

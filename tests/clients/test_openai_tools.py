"""Tool calls through the `openai` package: offered, forced, named, streamed, answered."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.services.real_service import RealService
from tests.support.text.client_questions import CAPITAL, CLOCK, MODEL, STORY, WEATHER, check_weather

openai = pytest.importorskip("openai", reason="the extra `clients` is not installed")


@pytest.fixture(scope="module")
def client(service: RealService) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{service.url}/v1", api_key="no-key", max_retries=0, timeout=60) as client:
        yield client


def ask(client: openai.OpenAI, **options: Any) -> Any:
    options = {"messages": STORY, "tools": [WEATHER, CLOCK], "seed": 1, "max_tokens": 120} | options
    return client.chat.completions.create(model=MODEL, **options)


@pytest.mark.parametrize("choice", ["required", {"type": "function", "function": {"name": "get_weather"}}])
def test_a_forced_call_obeys_its_schema(client: openai.OpenAI, choice: Any) -> None:
    names = set()
    for seed in range(3):
        answer = ask(client, tool_choice=choice, seed=seed, temperature=1.5, parallel_tool_calls=False)
        [said] = answer.choices
        assert said.finish_reason == "tool_calls"
        [call] = said.message.tool_calls
        names.add(call.function.name)
        assert call.type == "function"
        assert call.id
        if call.function.name == "get_weather":
            check_weather(call.function.name, call.function.arguments)
        else:
            assert call.function.arguments == "{}"
    assert names <= {"get_weather", "get_time"} if choice == "required" else names == {"get_weather"}


def test_a_forced_call_streams(client: openai.OpenAI) -> None:
    asked = {"tool_choice": {"type": "function", "function": {"name": "get_weather"}}, "seed": 2}
    asked |= {"parallel_tool_calls": False}
    whole = ask(client, **asked).choices[0].message.tool_calls[0]
    called, arguments, reasons = "", "", []
    for chunk in ask(client, **asked, stream=True):
        [choice] = chunk.choices
        assert not choice.delta.content
        for part in choice.delta.tool_calls or []:
            assert part.index == 0
            called += part.function.name or ""
            arguments += part.function.arguments or ""
        reasons.append(choice.finish_reason)
    check_weather(called, arguments)
    assert arguments == whole.function.arguments
    assert reasons[-1] == "tool_calls"


def test_the_packages_own_stream_helper_collects_a_call(client: openai.OpenAI) -> None:
    with client.chat.completions.stream(
        model=MODEL, messages=STORY, tools=[WEATHER], tool_choice="required", seed=2, max_tokens=120
    ) as stream:
        done = [event for event in stream if event.type == "tool_calls.function.arguments.done"]
        final = stream.get_final_completion()
    assert final.choices[0].finish_reason == "tool_calls"
    for event, call in zip(done, final.choices[0].message.tool_calls, strict=True):
        assert event.arguments == call.function.arguments
        check_weather(call.function.name, call.function.arguments)


def test_an_answer_without_a_call_is_text_although_tools_are_offered(client: openai.OpenAI) -> None:
    for choice in ("auto", "none"):
        answer = ask(client, messages=CAPITAL, tool_choice=choice, temperature=0)
        [said] = answer.choices
        assert bool(said.message.tool_calls) == (said.finish_reason == "tool_calls")
        assert said.message.content or said.message.tool_calls
    assert not said.message.tool_calls


def test_a_conversation_continues_with_the_result_of_a_call(client: openai.OpenAI) -> None:
    first = ask(client, tool_choice="required", tools=[CLOCK], parallel_tool_calls=False)
    said = first.choices[0].message
    result = {"role": "tool", "tool_call_id": said.tool_calls[0].id, "content": "12:30"}
    messages = [*STORY, said.model_dump(), result]
    answer = ask(client, messages=messages, tools=[CLOCK], tool_choice="none")
    assert answer.choices[0].message.content
    assert answer.usage.prompt_tokens > first.usage.prompt_tokens


def test_an_expression_with_tools_is_refused(client: openai.OpenAI) -> None:
    with pytest.raises(openai.BadRequestError) as refused:
        ask(client, extra_body={"regex": "[0-9]+"}, tool_choice="required")
    assert refused.value.param

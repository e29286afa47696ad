"""A body of Anthropic's Messages becomes the chat that it means, and errors name its own fields."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from cactus_actors.api.anthropic import request_from_message
from cactus_actors.api.field_names import name_as_given
from cactus_actors.api.openai import BodyRequest
from cactus_actors.protocol.errors import CactusError, InvalidRequest, NotSupported

HELLO = [{"role": "user", "content": "hello"}]
PNG = {"type": "base64", "media_type": "image/png", "data": "iVBO"}
WEATHER = {"name": "weather", "description": "The weather", "input_schema": {"type": "object", "properties": {}}}


def request_of(**fields: Any) -> BodyRequest:
    body = {"model": "m", "max_tokens": 9, "messages": HELLO} | fields
    return request_from_message(json.loads(json.dumps(body)), lambda choice: f"{choice:032x}")


def messages_of(**fields: Any) -> list[dict[str, Any]]:
    [submit] = request_of(**fields).submits
    return [msgspec.to_builtins(message) for message in submit.messages or []]


def error_of(**fields: Any) -> CactusError:
    with pytest.raises(CactusError) as caught:
        request_of(**fields)
    return caught.value


def test_the_system_text_is_the_first_message() -> None:
    assert messages_of(system="Be brief.")[0] == {"role": "system", "content": "Be brief."}
    blocks = [{"type": "text", "text": "Be", "cache_control": {"type": "ephemeral"}}, {"type": "text", "text": "brief"}]
    assert messages_of(system=blocks)[0]["content"] == "Be\n\nbrief"
    assert messages_of() == [{"role": "user", "content": "hello"}]
    later = [*HELLO, {"role": "system", "content": "Be brief."}, *HELLO]
    assert [message["role"] for message in messages_of(messages=later)] == ["user", "system", "user"]


def test_results_of_tools_are_messages_before_the_rest_of_their_turn() -> None:
    called = [
        {"type": "thinking", "thinking": "A tool knows.", "signature": "x"},
        {"type": "redacted_thinking", "data": "x"},
        {"type": "text", "text": "Let me see."},
        {"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Oslo"}},
        {"type": "tool_use", "id": "c2", "name": "weather", "input": {}},
    ]
    answered = [
        {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "rain"}]},
        {"type": "tool_result", "tool_use_id": "c2", "content": "no such city", "is_error": True},
        {"type": "text", "text": "Which is it?"},
    ]
    turns = [*HELLO, {"role": "assistant", "content": called}, {"role": "user", "content": answered}]
    _, assistant, first, second, rest = messages_of(messages=turns)
    assert (assistant["content"], assistant["reasoning_content"]) == ("Let me see.", "A tool knows.")
    calls = [(call["id"], call["function"]["name"], call["function"]["arguments"]) for call in assistant["tool_calls"]]
    assert calls == [("c1", "weather", '{"city":"Oslo"}'), ("c2", "weather", "{}")]
    assert first == {"role": "tool", "tool_call_id": "c1", "content": "rain"}
    assert second["content"] == "Error: no such city"
    assert rest == {"role": "user", "content": [{"type": "text", "text": "Which is it?"}]}


def test_pictures_are_addresses() -> None:
    pictures = [{"type": "image", "source": source} for source in (PNG, {"type": "url", "url": "https://a/b.png"})]
    [message] = messages_of(messages=[{"role": "user", "content": [*pictures, {"type": "text", "text": "?"}]}])
    urls = [part["image_url"]["url"] for part in message["content"] if part["type"] == "image_url"]
    assert urls == ["data:image/png;base64,iVBO", "https://a/b.png"]


def test_a_last_turn_of_the_assistant_is_continued() -> None:
    assert messages_of(messages=[*HELLO, {"role": "assistant", "content": "I"}])[-1]["prefix"] is True
    assert "prefix" not in messages_of(messages=[*HELLO, {"role": "assistant", "content": "I"}, *HELLO])[1]


def test_options_have_the_meaning_of_ours() -> None:
    asked = request_of(
        stop_sequences=["END"],
        top_k=5,
        temperature=0.5,
        metadata={"user_id": "ann"},
        thinking={"type": "enabled", "budget_tokens": 2000},
        output_config={"effort": "low", "format": {"type": "json_schema", "schema": {"type": "object"}}},
        service_tier="auto",
        seed=7,
    )
    options = asked.submits[0].options
    assert (options.max_tokens, options.stop_sequences, options.top_k, options.temperature) == (9, ["END"], 5, 0.5)
    assert (options.user, options.thinking_budget, options.enable_thinking, options.seed) == ("ann", 2000, True, 7)
    assert options.reasoning_effort == "low"
    assert options.response_format is not None
    assert options.response_format["json_schema"]["schema"] == {"type": "object"}
    assert asked.ignored == ()


@pytest.mark.parametrize(
    ("choice", "expected", "parallel"),
    [
        ({"type": "auto"}, "auto", None),
        ({"type": "any", "disable_parallel_tool_use": True}, "required", False),
        ({"type": "none"}, "none", None),
        ({"type": "tool", "name": "weather"}, {"type": "function", "function": {"name": "weather"}}, None),
    ],
)
def test_tools_and_their_choice(choice: dict[str, Any], expected: object, parallel: bool | None) -> None:
    [submit] = request_of(tools=[WEATHER], tool_choice=choice).submits
    function = {"name": "weather", "parameters": WEATHER["input_schema"], "description": "The weather"}
    assert submit.tools == [{"type": "function", "function": function}]
    assert (submit.options.tool_choice, submit.options.parallel_tool_calls) == (expected, parallel)


@pytest.mark.parametrize(
    ("fields", "kind", "param"),
    [
        ({"max_tokens": None}, InvalidRequest, "max_tokens"),
        ({"messages": []}, InvalidRequest, "messages"),
        ({"messages": [{"role": "user", "content": []}]}, InvalidRequest, "messages[0].content"),
        ({"messages": [{"role": "tool", "content": "x"}]}, InvalidRequest, "messages[0].role"),
        ({"messages": [{"role": "user", "content": [{"type": "document"}]}]}, InvalidRequest, "messages[0].content[0]"),
        (
            {"messages": [{"role": "user", "content": [{"type": "tool_use", "id": "c", "name": "f", "input": {}}]}]},
            InvalidRequest,
            "messages[0].content",
        ),
        ({"tools": [{"type": "bash_20250124", "name": "bash"}]}, NotSupported, "tools[0].type"),
        ({"tools": [{"name": "bash"}]}, InvalidRequest, "tools[0].input_schema"),
        ({"tool_choice": {"type": "some"}}, InvalidRequest, "tool_choice.type"),
        ({"tool_choice": {"type": "tool"}}, InvalidRequest, "tool_choice.name"),
        ({"mcp_servers": [{"url": "x"}]}, NotSupported, "mcp_servers"),
        ({"temperature": 9}, InvalidRequest, "temperature"),
        ({"stop_sequences": [""]}, InvalidRequest, "stop_sequences"),
        ({"metadata": {"user_id": "x" * 5000}}, InvalidRequest, "metadata.user_id"),
        ({"output_config": {"effort": "utmost"}}, InvalidRequest, "output_config.effort"),
    ],
)
def test_an_error_names_the_field_of_the_body(fields: dict[str, Any], kind: type[CactusError], param: str) -> None:
    error = error_of(**fields)
    assert type(error) is kind
    assert (error.param or "").startswith(param)


def test_errors_about_a_message_name_its_place_in_the_body() -> None:
    turns = [*HELLO, {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c"}]}, *HELLO]
    asked = request_of(system="Be brief.", messages=turns)
    for index, place in ((0, "system"), (1, "messages[0]"), (2, "messages[1]"), (3, "messages[2]")):
        error = InvalidRequest(f"messages[{index}].content is bad", param=f"messages[{index}].content")
        name_as_given(error, asked.field_names)
        assert error.param == f"{place}.content"
        assert error.message == f"{place}.content is bad"


def test_unknown_fields_are_listed_or_refused() -> None:
    assert request_of(nonsense=1, cache_control={"type": "ephemeral"}).ignored == ("nonsense",)
    with pytest.raises(InvalidRequest, match=r"unknown field 'max_token'.*did you mean") as caught:
        request_from_message({"max_token": 1, "max_tokens": 1, "messages": HELLO}, lambda _: "0" * 32, strict=True)
    assert caught.value.param == "max_token"

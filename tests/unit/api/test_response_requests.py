"""A body of OpenAI's Responses becomes the chat that it means, and errors name its own fields."""

from __future__ import annotations

import json
import time
from typing import Any

import msgspec
import pytest

from cactus_actors.api.field_names import name_as_given
from cactus_actors.api.responses import Item, ResponseRequest, request_from_response
from cactus_actors.protocol.errors import CactusError, InvalidRequest, NotSupported, ResourceNotFound

ID = f"resp_{'1' * 24}"
EARLIER = f"resp_{'2' * 24}"
ASKED: Item = {
    "id": "msg_asked",
    "type": "message",
    "role": "user",
    "content": [{"type": "input_text", "text": "2 + 2?"}],
    "status": "completed",
}
ANSWERED: Item = {
    "id": "msg_answered",
    "type": "message",
    "role": "assistant",
    "content": [{"type": "output_text", "text": "4", "annotations": []}],
    "status": "completed",
}
WEATHER = {"type": "function", "name": "weather", "parameters": {"type": "object", "properties": {}}}
TIME = {"type": "function", "name": "time", "parameters": {"type": "object", "properties": {}}}


class OneStored:
    """One stored response."""

    def conversation(self, response_id: str) -> list[Item]:
        if response_id != EARLIER:
            raise ResourceNotFound("no such response", param="previous_response_id")
        return [ASKED, ANSWERED]

    def item(self, item_id: str) -> Item:
        return next(item for item in self.conversation(EARLIER) if item["id"] == item_id)


def request_of(**fields: Any) -> ResponseRequest:
    body = json.loads(json.dumps({"model": "m", "input": "hello"} | fields))
    return request_from_response(body, lambda choice: f"{choice:032x}", ID, OneStored())


def messages_of(**fields: Any) -> list[dict[str, Any]]:
    [submit] = request_of(**fields).asked.submits
    return [msgspec.to_builtins(message) for message in submit.messages or []]


def options_of(**fields: Any) -> Any:
    return request_of(**fields).asked.submits[0].options


def error_of(**fields: Any) -> CactusError:
    with pytest.raises(CactusError) as caught:
        request_of(**fields)
    return caught.value


def test_a_text_is_a_turn_of_the_user_after_the_instructions() -> None:
    assert messages_of(instructions="Be brief.") == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "hello"},
    ]


def test_what_the_assistant_did_in_a_row_is_one_message() -> None:
    items = [
        {"role": "developer", "content": "Be brief."},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Weather and time?"}]},
        {"type": "reasoning", "id": "rs_1", "summary": [], "content": [{"type": "reasoning_text", "text": "both"}]},
        {"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": "Wait."}]},
        {"type": "function_call", "call_id": "a", "name": "weather", "arguments": "{}", "status": "completed"},
        {"type": "function_call", "call_id": "b", "name": "time", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "a", "output": "rain"},
        {"type": "function_call_output", "call_id": "b", "output": [{"type": "input_text", "text": "noon"}]},
    ]
    calls = [
        {"id": "a", "type": "function", "function": {"name": "weather", "arguments": "{}"}},
        {"id": "b", "type": "function", "function": {"name": "time", "arguments": "{}"}},
    ]
    assert messages_of(input=items, tools=[WEATHER, TIME]) == [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": "Weather and time?"},
        {"role": "assistant", "content": "Wait.", "tool_calls": calls, "reasoning_content": "both"},
        {"role": "tool", "content": "rain", "tool_call_id": "a"},
        {"role": "tool", "content": "noon", "tool_call_id": "b"},
    ]


def test_a_call_after_a_result_is_another_message() -> None:
    call = {"type": "function_call", "call_id": "a", "name": "time", "arguments": "{}"}
    result = {"type": "function_call_output", "call_id": "a", "output": "noon"}
    roles = [message["role"] for message in messages_of(input=[call, result, call, result], tools=[TIME])]
    assert roles == ["assistant", "tool", "assistant", "tool"]


def test_pictures_are_parts_of_a_message() -> None:
    image = {"type": "input_image", "image_url": "data:image/png;base64,iVBO", "detail": "auto"}
    content = [{"type": "input_text", "text": "What is it?"}, image]
    [message] = messages_of(input=[{"role": "user", "content": content}])
    assert [part["type"] for part in message["content"]] == ["text", "image_url"]
    assert message["content"][1]["image_url"] == {"url": "data:image/png;base64,iVBO"}


def test_an_earlier_response_is_the_beginning_but_not_its_instructions() -> None:
    given = request_of(previous_response_id=EARLIER, input="And 3 + 3?")
    assert [item["id"] for item in given.items] == ["msg_asked", "msg_answered", f"msg_{'1' * 24}i0000"]
    assert messages_of(previous_response_id=EARLIER, input="And 3 + 3?", instructions="Be brief.") == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "2 + 2?"},
        {"role": "assistant", "content": "4"},
        {"role": "user", "content": "And 3 + 3?"},
    ]
    referred = [{"type": "item_reference", "id": "msg_answered"}, {"role": "user", "content": "Why?"}]
    assert [message["content"] for message in messages_of(input=referred)] == ["4", "Why?"]


def test_fields_become_the_options_that_they_are_called_elsewhere() -> None:
    options = options_of(
        max_output_tokens=7,
        temperature=0.5,
        seed=3,
        reasoning={"effort": "low", "summary": "auto"},
        safety_identifier="someone",
        parallel_tool_calls=False,
        include=["message.output_text.logprobs", "reasoning.encrypted_content"],
        top_logprobs=2,
        text={"format": {"type": "json_schema", "name": "n", "schema": {"type": "integer"}, "strict": True}},
    )
    assert (options.max_tokens, options.temperature, options.seed) == (7, 0.5, 3)
    assert (options.reasoning_effort, options.user, options.parallel_tool_calls) == ("low", "someone", False)
    assert (options.logprobs, options.top_logprobs) == (True, 2)
    schema = {"name": "n", "schema": {"type": "integer"}, "strict": True}
    assert options.response_format == {"type": "json_schema", "json_schema": schema}
    assert options_of(top_logprobs=2).top_logprobs is None


def test_the_choice_among_tools() -> None:
    def chosen(choice: Any) -> tuple[Any, list[str]]:
        [submit] = request_of(tools=[WEATHER, TIME], tool_choice=choice).asked.submits
        return submit.options.tool_choice, [tool["function"]["name"] for tool in submit.tools or []]

    both = ["weather", "time"]
    assert chosen("required") == ("required", both)
    named = {"type": "function", "function": {"name": "time"}}
    assert chosen({"type": "function", "name": "time"}) == (named, both)
    allowed = {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "time"}]}
    assert chosen(allowed) == ("required", ["time"])


def test_a_response_repeats_its_request_with_defaults() -> None:
    repeated = request_of(tools=[WEATHER], metadata={"a": "b"}).repeated
    assert repeated["tools"] == [WEATHER | {"description": None, "strict": False}]
    assert (repeated["metadata"], repeated["tool_choice"], repeated["truncation"]) == ({"a": "b"}, "auto", "disabled")
    assert (repeated["temperature"], repeated["top_p"], repeated["parallel_tool_calls"]) == (0.6, 0.95, True)
    assert repeated["text"] == {"format": {"type": "text"}, "verbosity": "medium"}


def test_errors_name_the_place_in_the_input() -> None:
    turns = [{"role": "user", "content": "hello"}, {"type": "function_call", "name": "f", "arguments": "{}"}]
    assert error_of(input=turns).param == "input[1].call_id"
    pictured = [{"role": "assistant", "content": [{"type": "input_image", "image_url": "http://x"}]}]
    assert (error_of(input=pictured).param, type(error_of(input=pictured))) == ("input[0].content[0]", InvalidRequest)
    shown = {
        "type": "function_call_output",
        "call_id": "a",
        "output": [{"type": "input_image", "image_url": "http://x"}],
    }
    assert isinstance(error_of(input=[shown]), NotSupported)
    wrong = error_of(max_output_tokens=-9)
    assert (wrong.param, wrong.message.startswith("max_output_tokens must be")) == ("max_output_tokens", True)
    with_both = error_of(tools=[TIME], include=["message.output_text.logprobs"])
    assert (with_both.param, type(with_both)) == ("include", NotSupported)


def test_an_error_about_one_of_very_many_items_is_found_at_once() -> None:
    items = [{"type": "function_call_output", "call_id": "c", "output": "x"}] * 60_000
    names = request_of(input=items).asked.field_names
    error = InvalidRequest("messages[59999].content is bad", param="messages[59999].content")
    started = time.process_time()
    name_as_given(error, names)
    assert time.process_time() - started < 1, "it was 6 s"
    assert (error.param, error.message) == ("input[59999].content", "input[59999].content is bad")

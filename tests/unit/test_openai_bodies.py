"""OpenAI bodies in and out: strict about types, named fields, nothing left out silently."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from cactus_actors.protocol.errors import ContextExceeded, InvalidRequest, NotSupported
from cactus_actors.protocol.messages import ChatMessage, Submit
from cactus_actors.protocol.openai import (
    CHAT_COMPLETIONS,
    COMPLETIONS,
    ToolCall,
    chat_completion_body,
    chat_request_body,
    cloud_request_from_submit,
    error_body,
    render_tool_calls,
    split_tool_calls,
    submit_from_body,
    text_completion_body,
)
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.params import SamplingParams
from cactus_actors.protocol.results import Handoff, Result, Usage
from cactus_actors.protocol.worker_messages import CloudRequest

JOB = "0" * 32
WEATHER = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}


def chat(**fields: Any) -> Submit:
    return submit_from_body(
        CHAT_COMPLETIONS, {"messages": [{"role": "user", "content": "Hi"}], **fields}, JOB
    )


def completion(**fields: Any) -> Submit:
    return submit_from_body(COMPLETIONS, fields, JOB)


def test_a_chat_body_becomes_a_submit_with_its_options() -> None:
    submit = chat(
        model="any",
        max_completion_tokens=7,
        temperature=0,
        stop=["a", "b"],
        seed=5,
        tools=[{"name": "weather", "parameters": {"type": "object"}}],
        cloud_handoff_threshold=0.7,
        stream=True,
        user="someone",
    )
    assert submit == Submit(
        job_id=JOB,
        messages=[ChatMessage(role="user", content="Hi")],
        tools=[WEATHER | {"function": WEATHER["function"]}],
        model="any",
        options=Options(
            max_tokens=7,
            max_completion_tokens=7,
            temperature=0.0,
            stop=["a", "b"],
            seed=5,
            cloud_handoff_threshold=0.7,
            user="someone",
        ),
    )


def test_null_is_absent_and_tool_choice_none_drops_the_tools() -> None:
    submit = chat(tools=[WEATHER], tool_choice="none", max_tokens=None, n=1, logprobs=None)
    assert submit.tools is None
    assert submit.options == Options(tool_choice="none")


def test_content_parts_of_text_are_joined_and_an_image_is_refused_by_place() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert chat(messages=[{"role": "user", "content": parts}]).messages == [
        ChatMessage(role="user", content="ab")
    ]
    image = {"type": "image_url", "image_url": {"url": "data:"}}
    with pytest.raises(NotSupported) as caught:
        chat(messages=[{"role": "system", "content": "x"}, {"role": "user", "content": [image]}])
    assert caught.value.param == "messages[1].content"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("", ""),
        ("Hi", "Hi"),
        (["Hi"], "Hi"),
        ([1, 2], [1, 2]),
        ([[1, 2]], [1, 2]),
        ([1, "Hi", 2], [1, "Hi", 2]),
    ],
)
def test_prompt_shapes_of_one_prompt(given: Any, expected: Any) -> None:
    assert completion(prompt=given).prompt == expected


@pytest.mark.parametrize("prompt", [["a", "b"], [[1], [2]], [[1], "a"]])
def test_several_prompts_are_not_one_job(prompt: Any) -> None:
    with pytest.raises(NotSupported, match="prompt holds 2 prompts") as caught:
        completion(prompt=prompt)
    assert caught.value.param == "prompt"


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"max_tokens": "5"}, "max_tokens"),
        ({"max_tokens": True}, "max_tokens"),
        ({"max_completion_tokens": "5"}, "max_completion_tokens"),
        ({"max_tokens": 5, "max_completion_tokens": 6}, "max_completion_tokens"),
        ({"temperature": "hot"}, "temperature"),
        ({"stop": [1]}, "stop[0]"),
        ({"messages": None}, "messages"),
        ({"messages": []}, "messages"),
        ({"messages": "Hi"}, "messages"),
        ({"messages": [{"content": "Hi"}]}, "messages[0].role"),
        ({"messages": [{"role": "wizard", "content": "Hi"}]}, "messages[0].role"),
        ({"tools": [{"type": "function", "function": {}}]}, "tools[0].function.name"),
        ({"model": 5}, "model"),
    ],
)
def test_a_wrong_type_names_its_field(fields: dict[str, Any], param: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        chat(**fields)
    assert caught.value.param == param


@pytest.mark.parametrize(
    "fields",
    [
        {"n": 2},
        {"n": True},
        {"logprobs": True},
        {"logprobs": 0},
        {"echo": True},
        {"response_format": {"type": "json_object"}},
        {"tool_choice": "required"},
        {"grammar": 'root ::= "a"'},
    ],
)
def test_what_is_not_here_is_refused_by_name_and_not_left_out(fields: dict[str, Any]) -> None:
    with pytest.raises(NotSupported) as caught:
        chat(**fields)
    assert caught.value.param == next(iter(fields))


def test_a_missing_prompt_a_body_that_is_no_object_and_an_unknown_url() -> None:
    with pytest.raises(InvalidRequest, match="prompt is required"):
        completion(model="m")
    with pytest.raises(InvalidRequest, match="must be a JSON object"):
        submit_from_body(COMPLETIONS, ["Hi"], JOB)
    with pytest.raises(InvalidRequest, match="url must be") as caught:
        submit_from_body("/v1/embeddings", {"prompt": "Hi"}, JOB)
    assert caught.value.param == "url"


def test_a_result_becomes_a_chat_completion_with_our_extensions() -> None:
    result = Result(
        text="Paris",
        finish_reason="length",
        confidence=0.25,
        accepted=False,
        cloud_handoff=True,
        handoff=Handoff(status="completed", provider="api.example"),
        usage=Usage(prompt_tokens=3, completion_tokens=2, cached_tokens=1),
        model="cactus",
        seed=9,
    )
    body = chat_completion_body(result, completion_id="chatcmpl-1", created=17)
    assert body["object"] == "chat.completion"
    assert (body["id"], body["created"], body["model"], body["seed"]) == ("chatcmpl-1", 17, "cactus", 9)
    assert body["choices"][0]["message"] == {"role": "assistant", "content": "Paris"}
    assert body["choices"][0]["finish_reason"] == "length"
    assert body["usage"]["total_tokens"] == 5
    assert body["usage"]["prompt_tokens_details"] == {"cached_tokens": 1}
    assert (body["confidence"], body["accepted"], body["cloud_handoff"]) == (0.25, False, True)
    assert body["handoff"]["provider"] == "api.example"
    assert body["timings"]["queue_ms"] == 0.0
    msgspec.json.encode(body)  # JSON-ready throughout


def test_a_result_becomes_a_text_completion_that_echoes_the_requests_model() -> None:
    result = Result(text="Paris", stop_match="\n", model="cactus")
    body = text_completion_body(result, completion_id="cmpl-1", created=17, model="asked-for")
    assert body["object"] == "text_completion"
    assert body["model"] == "asked-for"
    assert body["choices"] == [
        {"index": 0, "text": "Paris", "logprobs": None, "finish_reason": "stop", "stop_reason": "\n"}
    ]


def test_tool_calls_travel_as_text_and_come_back_as_calls() -> None:
    calls = [ToolCall("weather", {"city": "Paris"}), ToolCall("time", {})]
    text = "Let me look.\n" + render_tool_calls(calls)
    assert split_tool_calls(text) == ("Let me look.", calls)
    assert split_tool_calls('{"name":"time","arguments":{}}') == ("", [calls[1]])
    body = chat_completion_body(Result(text=text), completion_id="c", created=0, tools_offered=True)
    choice = body["choices"][0]
    assert choice["finish_reason"] == "tool_calls"
    assert choice["message"]["content"] == "Let me look."
    assert choice["message"]["tool_calls"][0] == {
        "id": "call_c_0",
        "type": "function",
        "function": {"name": "weather", "arguments": '{"city":"Paris"}'},
    }


@pytest.mark.parametrize(
    "text", ["<tool_call>{broken</tool_call>", '<tool_call>{"name": 1}</tool_call>', "no call", "[" * 100_000]
)
def test_malformed_calls_stay_text(text: str) -> None:
    assert split_tool_calls(text) == (text, [])
    result = Result(text=text, finish_reason="tool_calls")
    body = chat_completion_body(result, completion_id="c", created=0, tools_offered=True)
    assert body["choices"][0]["finish_reason"] == "stop"
    assert body["choices"][0]["message"] == {"role": "assistant", "content": text}


def test_an_error_body_has_the_integer_code_and_the_field() -> None:
    info = ContextExceeded("too long", param="prompt").info()
    assert error_body(info, "req_1") == {
        "error": {
            "message": "too long",
            "type": "exceed_context_size_error",
            "code": 400,
            "param": "prompt",
            "request_id": "req_1",
        }
    }
    assert "request_id" not in error_body(info)["error"]


def test_the_cloud_is_sent_documented_fields_only() -> None:
    submit = chat(tools=[WEATHER], top_k=5, min_p=0.1)
    params = SamplingParams(max_tokens=9, temperature=0.5, top_k=5, min_p=0.1, seed=2**64 - 1, stop=("x",))
    assert chat_request_body(cloud_request_from_submit(submit), params, "big") == {
        "model": "big",
        "messages": [{"role": "user", "content": "Hi"}],
        "max_tokens": 9,
        "temperature": 0.5,
        "top_p": 1.0,
        "seed": 2**63 - 1,
        "stream": True,
        "stream_options": {"include_usage": True},
        "stop": ["x"],
        "tools": [WEATHER],
    }


def test_a_bare_prompt_becomes_one_user_message_and_token_ids_cannot_go() -> None:
    body = chat_request_body(CloudRequest(prompt="Hi"), SamplingParams(max_tokens=1), "big")
    assert body["messages"] == [{"role": "user", "content": "Hi"}]
    with pytest.raises(NotSupported, match="token ids"):
        cloud_request_from_submit(Submit(job_id=JOB, prompt=[1, 2]))

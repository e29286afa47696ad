"""OpenAI request bodies: strict types, errors with field names, no field dropped silently."""

from __future__ import annotations

from functools import partial
from typing import Any

import msgspec
import pytest

from cactus_actors.api.openai import (
    CHAT_COMPLETIONS,
    COMPLETIONS,
    BodyRequest,
    chat_request_body,
    completion_body,
    error_body,
    request_from_body,
)
from cactus_actors.protocol.content_part import ContentPart
from cactus_actors.protocol.errors import ContextExceeded, InvalidRequest, NotSupported
from cactus_actors.protocol.messages import ChatMessage, Submit
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.results import NOT_ALLOWED, Handoff, Result
from cactus_actors.protocol.sampling_params import SamplingParams
from cactus_actors.protocol.worker_messages import CloudRequest

JOB = "0" * 32
TURN = {"role": "user", "content": "Hi"}
WEATHER = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}


def numbered(place: int) -> str:
    return f"{place:032x}"


def chat(**fields: Any) -> BodyRequest:
    return request_from_body(CHAT_COMPLETIONS, {"messages": [TURN], **fields}, numbered)


def completion(**fields: Any) -> BodyRequest:
    return request_from_body(COMPLETIONS, fields, numbered)


def prompts(prompt: Any) -> list[Any]:
    return [submit.prompt for submit in completion(prompt=prompt).submits]


def test_a_chat_body_becomes_a_job_with_its_options() -> None:
    request = chat(
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
    assert request.submits == [
        Submit(
            job_id=JOB,
            messages=[ChatMessage(role="user", content="Hi")],
            tools=[WEATHER],
            model="any",
            options=Options(
                max_completion_tokens=7,
                temperature=0.0,
                stop=["a", "b"],
                seed=5,
                cloud_handoff_threshold=0.7,
                user="someone",
            ),
            profile="cactus",
        )
    ]
    assert (request.endpoint, request.model, request.stream) == ("chat", "any", True)


@pytest.mark.parametrize("field", msgspec.structs.fields(Options), ids=lambda field: field.name)
def test_every_option_is_accepted_in_both_bodies(field: msgspec.structs.FieldInfo) -> None:
    value = OPTIONS[field.name]
    beside: dict[str, Any] = {"logprobs": True} if field.name == "top_logprobs" else {}
    made = [completion(prompt="Hi", **beside, **{field.name: value})]
    if field.name not in ("echo", "suffix"):
        made.append(chat(**beside, **{field.name: value}))
    for request in made:
        assert getattr(request.submits[0].options, field.name) == value


OPTIONS: dict[str, Any] = {
    "max_tokens": 7,
    "max_completion_tokens": 7,
    "min_tokens": 3,
    "stop": ["a"],
    "stop_sequences": "a",
    "include_stop_sequences": True,
    "ignore_eos": True,
    "temperature": 0.5,
    "top_p": 0.5,
    "top_k": 5,
    "min_p": 0.1,
    "typical_p": 0.9,
    "seed": 5,
    "random_seed": 5,
    "presence_penalty": 1.0,
    "frequency_penalty": 1.0,
    "repeat_penalty": 1.2,
    "repetition_penalty": 1.2,
    "repeat_last_n": 5,
    "logit_bias": {"5": -100.0},
    "mirostat": 2,
    "mirostat_tau": 4.0,
    "mirostat_eta": 0.2,
    "logprobs": 2,
    "top_logprobs": 2,
    "echo": True,
    "suffix": "end",
    "grammar": 'root ::= "a"',
    "grammar_root": "value",
    "json_schema": {"type": "object"},
    "regex": "a+",
    "response_format": {"type": "json_object"},
    "tool_choice": "none",
    "force_tools": True,
    "parallel_tool_calls": False,
    "tool_rag_top_k": 1,
    "safe_prompt": True,
    "safe_mode": True,
    "prompt_mode": "reasoning",
    "enable_thinking": True,
    "thinking_budget": 100,
    "reasoning_effort": "high",
    "chat_template_kwargs": {"enable_thinking": False, "dates": ["today"]},
    "confidence_threshold": 0.9,
    "cloud_handoff_threshold": 0.8,
    "max_entropy": 0.3,
    "allow_cloud": False,
    "gate_inputs": True,
    "group": "capitals",
    "cache_prompt": False,
    "cache_salt": "s",
    "lora": "poems",
    "timeout_ms": 5,
    "priority": 3,
    "user": "someone",
}


def test_null_is_absent() -> None:
    request = chat(**dict.fromkeys([*OPTIONS, "tools", "n", "stream", "stream_options", "best_of", "model"]))
    assert request == chat()
    assert request.submits[0].options == Options(seed=0)


def test_each_endpoint_has_a_default_profile_that_can_be_overridden() -> None:
    assert chat().submits[0].profile == "cactus"
    assert completion(prompt="Hi").submits[0].profile == "llamacpp"
    body = {"prompt": "Hi", "temperature": 1.6}
    assert request_from_body(COMPLETIONS, body, numbered, profile="mistral").submits[0].profile == "mistral"
    with pytest.raises(InvalidRequest, match="temperature"):
        request_from_body(COMPLETIONS, body, numbered, profile="cerebras")


def test_content_of_every_kind_is_kept_and_unknown_fields_of_answers_are_dropped() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": "data:"}}]
    answer = {"role": "assistant", "content": None, "refusal": None, "tool_calls": [{"id": "1"}]}
    request = chat(messages=[{"role": "user", "content": parts}, answer | {"prefix": True}])
    assert request.submits[0].messages == [
        ChatMessage(
            role="user",
            content=[
                ContentPart(type="text", text="a"),
                ContentPart(type="image_url", image_url={"url": "data:"}),
            ],
        ),
        ChatMessage(role="assistant", tool_calls=[{"id": "1"}], prefix=True),
    ]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("", [""]),
        ("Hi", ["Hi"]),
        (["Hi"], ["Hi"]),
        ([1, 2], [[1, 2]]),
        ([[1, 2]], [[1, 2]]),
        ([1, "Hi", 2], [[1, "Hi", 2]]),
        (["Hi", 1], [["Hi", 1]]),
        (["a", "b"], ["a", "b"]),
        ([[1], [2, "b"]], [[1], [2, "b"]]),
        ([[1], "a", {"prompt_string": "c"}], [[1], "a", "c"]),
        ({"prompt_string": "c", "multimodal_data": []}, ["c"]),
    ],
)
def test_every_prompt_shape_is_accepted(given: Any, expected: Any) -> None:
    assert prompts(given) == expected


@pytest.mark.parametrize(
    ("prompt", "message"),
    [
        (None, "prompt is required"),
        ([], "must not be empty"),
        ([[]], r"prompt\[0\] must not be empty"),
        (5, "a string or a list"),
        ([1, None], r"prompt\[1\] must be a token id or a string"),
        ([1, True], r"prompt\[1\] must be a token id or a string"),
        ([True], r"prompt\[0\] is not a prompt"),
        ([1, [2]], r"prompt\[1\] must be a token id"),
        (["a", [1.5]], r"prompt\[1\]\[0\] must be a token id"),
        ([{"prompt_string": "a", "multimodal_data": [1]}], r"prompt\[0\].multimodal_data must be a list of strings"),
        ({"prompt_string": "a", "multimodal_data": "x"}, r"prompt.multimodal_data must be a list of strings"),
        ({"prompt_string": 1}, "prompt is not a prompt"),
    ],
)
def test_an_invalid_prompt_is_reported_by_its_position(prompt: Any, message: str) -> None:
    with pytest.raises(InvalidRequest, match=message) as caught:
        prompts(prompt)
    assert caught.value.param == "prompt"


def test_media_of_prompts_are_data_urls() -> None:
    given = [{"prompt_string": "<__media__>", "multimodal_data": ["AAAA"]}, "b"]
    request = completion(prompt=given)
    assert [(one.prompt, one.images) for one in request.submits] == [
        ("<__media__>", ["data:;base64,AAAA"]),
        ("b", None),
    ]
    assert request.field_names == {"images": "prompt.multimodal_data"}


def test_jobs_of_one_request_share_the_seed() -> None:
    request = completion(prompt=["a", "b"], n=2, model="m")
    assert request.n == 2
    assert [(one.job_id, one.prompt, one.choice) for one in request.submits] == [
        (numbered(0), "a", 0),
        (numbered(1), "a", 1),
        (numbered(2), "b", 0),
        (numbered(3), "b", 1),
    ]
    assert {one.options.seed for one in request.submits} == {0}
    assert {one.options.seed for one in completion(prompt="a", n=2, random_seed=7).submits} == {None}


def test_requests_that_a_cloud_cannot_answer_do_not_allow_it() -> None:
    assert chat().submits[0].options.allow_cloud is None
    assert chat(n=2).submits[1].options.allow_cloud is False
    request = chat(return_raw_tokens=True)
    assert request.return_raw_tokens
    assert request.submits[0].options.allow_cloud is False


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"n": 2}, "a cloud answers with one choice"),
        ({"return_raw_tokens": True}, "a cloud answers in tokens of another model"),
        ({"n": 2, "allow_cloud": False}, "allow_cloud is false"),
        ({"allow_cloud": False}, "allow_cloud is false"),
    ],
)
def test_an_answer_that_stays_says_what_of_the_request_kept_it(fields: dict[str, Any], reason: str) -> None:
    request = chat(**fields)
    stayed = Result(handoff=Handoff(status="suppressed", reason=NOT_ALLOWED), finish_reason="stop")
    body = completion_body(request, [stayed] * request.n, completion_id="c", created=1)
    holder = body if request.n == 1 else body["choices"][1]
    assert (holder["handoff"]["status"], holder["handoff"]["reason"]) == ("suppressed", reason)


def test_stream_options_are_read_and_unknown_fields_reported() -> None:
    request = chat(stream_options={"include_usage": True, "other": 1}, chat_template="x", trace=1)
    assert request.include_usage
    assert request.ignored == ("chat_template", "trace")
    with pytest.raises(InvalidRequest, match="unknown field 'trace'") as caught:
        request_from_body(COMPLETIONS, {"prompt": "Hi", "trace": 1}, numbered, strict=True)
    assert caught.value.param == "trace"
    with pytest.raises(InvalidRequest, match="unknown field 'max_token'; did you mean 'max_tokens'"):
        request_from_body(COMPLETIONS, {"prompt": "Hi", "max_token": 1}, numbered, strict=True)


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"max_tokens": "5"}, "max_tokens"),
        ({"max_tokens": True}, "max_tokens"),
        ({"max_tokens": 10**400}, "max_tokens"),
        ({"max_completion_tokens": "5"}, "max_completion_tokens"),
        ({"max_tokens": 5, "max_completion_tokens": 6}, "max_completion_tokens"),
        ({"temperature": "hot"}, "temperature"),
        ({"stop": [1]}, "stop[0]"),
        ({"messages": None}, "messages"),
        ({"messages": []}, "messages"),
        ({"messages": "Hi"}, "messages"),
        ({"messages": [{"content": "Hi"}]}, "messages[0].role"),
        ({"messages": [{"role": "wizard", "content": "Hi"}]}, "messages[0].role"),
        ({"messages": [{"role": "user", "content": 5}]}, "messages[0].content"),
        ({"tools": [{"type": "function", "function": {}}]}, "tools[0].function.name"),
        ({"tools": [WEATHER, WEATHER]}, "tools[1].function.name"),
        ({"tools": [{"type": "retrieval", "function": {"name": "x"}}]}, "tools[0].type"),
        ({"tools": [{"name": "x", "parameters": []}]}, "tools[0].function.parameters"),
        ({"model": 5}, "model"),
        ({"n": 0}, "n"),
        ({"n": 17}, "n"),
        ({"n": True}, "n"),
        ({"echo": True}, "echo"),
        ({"suffix": ""}, "suffix"),
        ({"stream": 1}, "stream"),
        ({"stream_options": 1}, "stream_options"),
        ({"logprobs": 21}, "logprobs"),
    ],
)
def test_a_wrong_type_or_value_names_its_field(fields: dict[str, Any], param: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        chat(**fields)
    assert caught.value.param == param


@pytest.mark.parametrize(
    "fields", [{"best_of": 2}, {"audio": {}}, {"modalities": ["audio"]}, {"functions": [{"name": "f"}]}]
)
def test_unsupported_features_are_refused_and_not_ignored(fields: dict[str, Any]) -> None:
    with pytest.raises(NotSupported) as caught:
        chat(**fields)
    assert caught.value.param == next(iter(fields))


def test_pictures_outside_of_messages_and_prompts_are_refused() -> None:
    for ask, place in ((chat, "a message"), (partial(completion, prompt="Hi"), r"prompt\.multimodal_data")):
        ask(images=[])
        ask(images=None)
        with pytest.raises(InvalidRequest, match=f"belong in {place}") as caught:
            ask(images=["data:;base64,AAAA"])
        assert caught.value.param == "images"


def test_prompts_with_tools_and_echoes_with_raw_tokens_are_refused() -> None:
    with pytest.raises(NotSupported, match="tools need messages"):
        completion(prompt="Hi", tools=[WEATHER])
    with pytest.raises(InvalidRequest, match="exclude each other") as caught:
        completion(prompt="Hi", echo=True, return_raw_tokens=True)
    assert caught.value.param == "return_raw_tokens"
    with pytest.raises(InvalidRequest, match="above 1024 choices"):
        completion(prompt=["a"] * 65, n=16)


def test_a_body_that_is_not_an_object_and_an_unknown_url_are_refused() -> None:
    with pytest.raises(InvalidRequest, match="must be a JSON object"):
        request_from_body(COMPLETIONS, ["Hi"], numbered)
    with pytest.raises(InvalidRequest, match="url must be") as caught:
        request_from_body("/v1/embeddings", {"prompt": "Hi"}, numbered)
    assert caught.value.param == "url"


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


def test_only_documented_fields_are_sent_to_the_cloud() -> None:
    request = CloudRequest(messages=[ChatMessage(role="user", content="Hi")], tools=[WEATHER])
    params = SamplingParams(max_tokens=9, temperature=0.5, top_k=5, min_p=0.1, seed=2**64 - 1, stop=("x",))
    assert chat_request_body(request, params, "big") == {
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


def test_a_bare_prompt_becomes_one_user_message() -> None:
    body = chat_request_body(CloudRequest(prompt="Hi"), SamplingParams(max_tokens=1), "big")
    assert body["messages"] == [{"role": "user", "content": "Hi"}]

"""Results -> complete OpenAI bodies: one rendering of every field of a result."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from cactus_actors.api.openai import BodyRequest, completion_body
from cactus_actors.protocol.messages import Submit
from cactus_actors.protocol.options import Options, ProfileName
from cactus_actors.protocol.results import (
    Alternative,
    Handoff,
    Measures,
    Result,
    Source,
    Timings,
    TokenLogprob,
    ToolCall,
    Usage,
)


def make_request(endpoint: Any = "chat", num_choices: int = 1, **fields: Any) -> BodyRequest:
    profile: ProfileName | None = fields.pop("profile", None)
    options: Options = fields.pop("options", Options())
    submit = Submit(job_id="0" * 32, prompt="The sky", options=options, profile=profile)
    return BodyRequest(endpoint=endpoint, submits=[submit] * num_choices, **fields)


def make_body(request: BodyRequest, *results: Result) -> dict[str, Any]:
    body = completion_body(request, results, completion_id="c-1", created=17, system_fingerprint="fp_1")
    msgspec.json.encode(body)  # JSON-ready throughout
    return body


def choice_of(request: BodyRequest, result: Result) -> dict[str, Any]:
    [choice] = make_body(request, result)["choices"]
    return dict(choice)


def token(text: str, logprob: float | None = -0.5, **top: float) -> TokenLogprob:
    return TokenLogprob(
        token_id=len(text),
        token=text,
        bytes=list(text.encode()),
        logprob=logprob,
        top=[Alternative(9, other, value) for other, value in top.items()],
    )


def test_a_chat_completion_has_the_service_s_own_fields() -> None:
    result = Result(
        text="Paris",
        finish_reason="length",
        stop_match=None,
        confidence=0.25,
        accepted=False,
        handoff=Handoff(status="recommended", provider="api.example"),
        usage=Usage(prompt_tokens=3, completion_tokens=2, cached_tokens=1),
        timings=Timings(
            queue_ms=1.0,
            time_to_first_token_ms=5.0,
            total_time_ms=9.0,
            prefill_tokens_per_second=400.0,
            decode_tokens_per_second=250.0,
        ),
        model="cactus",
        seed=9,
        selected_tools=["time"],
        sources=[Source(source="a.md", content="x", score=1.0)],
    )
    body = make_body(make_request(), result)
    assert body["object"] == "chat.completion"
    assert (body["id"], body["created"], body["model"]) == ("c-1", 17, "cactus")
    assert (body["seed"], body["system_fingerprint"]) == (9, "fp_1")
    assert body["choices"] == [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "Paris"},
            "logprobs": None,
            "finish_reason": "length",
            "stop_reason": None,
        }
    ]
    assert body["usage"] == {
        "prompt_tokens": 3,
        "completion_tokens": 2,
        "total_tokens": 5,
        "prompt_tokens_details": {"cached_tokens": 1},
        "completion_tokens_details": {"reasoning_tokens": 0},
    }
    assert (body["confidence"], body["accepted"], body["cloud_handoff"]) == (0.25, False, False)
    assert [*body["handoff"]] == [
        "status",
        "reason",
        "confidence",
        "threshold",
        "provider",
        "latency_ms",
        "signal",
    ]
    assert body["handoff"]["provider"] == "api.example"
    assert (body["selected_tools"], body["sources"][0]["source"]) == (["time"], "a.md")
    assert body["timings"] == {
        "cache_n": 1,
        "prompt_n": 2,
        "prompt_ms": 4.0,
        "prompt_per_token_ms": 2.0,
        "prompt_per_second": 500.0,
        "predicted_n": 2,
        "predicted_ms": 4.0,
        "predicted_per_token_ms": 2.0,
        "predicted_per_second": 500.0,
        "queue_ms": 1.0,
        "time_to_first_token_ms": 5.0,
        "total_time_ms": 9.0,
    }


def test_unmeasured_prompt_times_are_null() -> None:
    names = ("prompt_ms", "prompt_per_token_ms", "prompt_per_second")
    usage = Usage(prompt_tokens=3, completion_tokens=2)
    timings = Timings(queue_ms=1.0, time_to_first_token_ms=5.0, total_time_ms=9.0)
    of_cloud = Result(text="Paris", cloud_handoff=True, usage=usage, timings=timings, model="big")
    told = make_body(make_request(), of_cloud)["timings"]
    assert [told[name] for name in names] == [None, None, None]
    assert (told["prompt_n"], told["predicted_ms"], told["time_to_first_token_ms"]) == (3, 4.0, 5.0)
    without_tokens = Result(finish_reason="cancelled", timings=Timings(queue_ms=9.0, total_time_ms=9.0), model="cactus")
    told = make_body(make_request(), without_tokens)["timings"]
    assert [told[name] for name in names] == [None, None, None]
    assert (told["predicted_ms"], told["predicted_per_second"]) == (0.0, 0.0)


def test_a_text_completion_repeats_the_model_name_of_the_request() -> None:
    body = make_body(
        make_request("completion", model="asked-for"), Result(text="Paris", stop_match="\n", model="cactus")
    )
    assert (body["object"], body["model"]) == ("text_completion", "asked-for")
    assert body["choices"] == [
        {"text": "Paris", "index": 0, "logprobs": None, "finish_reason": "stop", "stop_reason": "\n"}
    ]


def test_prompt_tokens_count_once_for_all_choices() -> None:
    results = [
        Result(text=text, usage=Usage(prompt_tokens=prompt, completion_tokens=2, cached_tokens=cached))
        for text, prompt, cached in [("a0", 10, 1), ("a1", 10, 9), ("b0", 20, 2), ("b1", 20, 19)]
    ]
    body = make_body(make_request("completion", 4, n=2), *results)
    assert [(choice["index"], choice["text"]) for choice in body["choices"]] == [
        (0, "a0"),
        (1, "a1"),
        (2, "b0"),
        (3, "b1"),
    ]
    assert body["usage"]["prompt_tokens"] == 30
    assert body["usage"]["completion_tokens"] == 8
    assert body["usage"]["prompt_tokens_details"] == {"cached_tokens": 3}
    assert "confidence" in body["choices"][1]
    assert "confidence" not in body


@pytest.mark.parametrize(
    ("endpoint", "profile", "reason", "written"),
    [
        ("chat", "mistral", "model_length", "model_length"),
        ("chat", "cactus", "model_length", "length"),
        ("completion", "mistral", "model_length", "length"),
        ("chat", None, "cancelled", "cancelled"),
        ("chat", None, "tool_calls", "stop"),
    ],
)
def test_finish_reasons_use_the_endpoint_s_names(
    endpoint: str, profile: ProfileName | None, reason: Any, written: str
) -> None:
    choice = choice_of(make_request(endpoint, profile=profile), Result(finish_reason=reason))
    assert choice["finish_reason"] == written


def test_call_arguments_are_json_text_and_ids_suit_every_template() -> None:
    calls = [ToolCall("weather", {"city": "Paris"}), ToolCall("time", {})]
    result = Result(text="", finish_reason="tool_calls", tool_calls=calls)
    choice = choice_of(make_request(), result)
    assert choice["finish_reason"] == "tool_calls"
    assert choice["message"]["content"] is None
    first, second = choice["message"]["tool_calls"]
    assert first["function"] == {"name": "weather", "arguments": '{"city":"Paris"}'}
    assert (first["type"], len(first["id"]), first["id"].isalnum()) == ("function", 9, True)
    assert first["id"] != second["id"]
    assert choice_of(make_request("completion"), result)["finish_reason"] == "stop"


def test_an_echoed_prompt_precedes_the_text() -> None:
    result = Result(text=" blue", prompt_text="The sky")
    assert choice_of(make_request("completion"), result)["text"] == "The sky blue"
    assert choice_of(make_request("chat"), result)["message"]["content"] == "The sky blue"


def test_raw_tokens_replace_the_text() -> None:
    result = Result(text="blue", token_ids=[4, 5])
    text = choice_of(make_request("completion", return_raw_tokens=True), result)
    assert (text["text"], text["tokens"]) == ("", [4, 5])
    chat = choice_of(make_request("chat", return_raw_tokens=True), result)
    assert (chat["message"]["content"], chat["tokens"]) == ("", [4, 5])


def test_log_probabilities_of_a_completion_have_the_documented_fields() -> None:
    tokens = [token(" bl", -0.5, **{" bl": -0.5, " gr": -1.0}), token("ue", -2.0, ed=-0.1)]
    choice = choice_of(make_request("completion"), Result(text=" blue", logprobs=tokens))
    assert choice["logprobs"] == {
        "tokens": [" bl", "ue"],
        "token_logprobs": [-0.5, -2.0],
        "top_logprobs": [{" bl": -0.5, " gr": -1.0}, {"ed": -0.1, "ue": -2.0}],
        "text_offset": [0, 3],
    }


def test_without_alternatives_maps_are_empty_and_minus_infinity_is_a_number() -> None:
    choice = choice_of(make_request("completion"), Result(text="a", logprobs=[token("a", float("-inf"))]))
    assert choice["logprobs"]["token_logprobs"] == [-9999.0]
    assert choice["logprobs"]["top_logprobs"] == [{}]


def test_an_echo_has_the_prompt_s_tokens_and_the_first_has_no_probability() -> None:
    result = Result(
        text=" blue",
        prompt_text="The sky",
        prompt_logprobs=[token("", None), token(" The", -3.0, A=-1.0), token(" sky", -2.0)],
        logprobs=[token(" blue", -0.5)],
    )
    choice = choice_of(make_request("completion"), result)
    written = choice["logprobs"]
    assert written["token_logprobs"] == [None, -3.0, -2.0, -0.5]
    assert written["top_logprobs"] == [None, {"A": -1.0, " The": -3.0}, {}, {}]
    # the space that the tokenizer puts before a text is not part of the prompt
    assert written["text_offset"] == [0, 0, 3, 7]
    assert choice["text"][7:] == " blue"


def test_offsets_count_whole_characters() -> None:
    first, second = "é".encode()
    halves = [
        TokenLogprob(token_id=1, token=r"bytes:\xc3", bytes=[first], logprob=-1.0),
        TokenLogprob(token_id=2, token=r"bytes:\xa9", bytes=[second], logprob=-1.0),
    ]
    choice = choice_of(make_request("completion"), Result(text="éa", logprobs=[*halves, token("a")]))
    assert choice["logprobs"]["text_offset"] == [0, 0, 1]
    assert choice["logprobs"]["tokens"][0] == r"bytes:\xc3"


def test_offsets_of_the_cerebras_profile_count_from_the_prompt() -> None:
    result = Result(text="a", logprobs=[token("a")])
    request = make_request("completion", profile="cerebras")
    assert choice_of(request, result)["logprobs"]["text_offset"] == [len("The sky")]


def test_log_probabilities_of_a_chat_have_the_documented_fields() -> None:
    tokens = [token("a", -0.5, **{"a": -0.5, r"bytes:\xc3": -2.0})]
    choice = choice_of(make_request("chat"), Result(text="a", logprobs=tokens))
    assert choice["logprobs"] == {
        "content": [
            {
                "token": "a",
                "logprob": -0.5,
                "bytes": [97],
                "top_logprobs": [
                    {"token": "a", "logprob": -0.5, "bytes": [97]},
                    {"token": r"bytes:\xc3", "logprob": -2.0, "bytes": [0xC3]},
                ],
            }
        ],
        "refusal": None,
    }


def test_a_cloud_answer_is_distinguished_from_a_local_one() -> None:
    local = Measures(mean_logprob=-1.0, min_token_prob=0.1, entropy_mean=0.8, entropy_max=0.9)
    handoff = Handoff(
        status="completed",
        model="big",
        cost=0.0125,
        currency="USD",
        usage_is_estimated=False,
        local_model="m",
        local_usage=Usage(prompt_tokens=3, completion_tokens=7),
        local_confidence=0.2,
        local_measures=local,
    )
    result = Result(
        text="Paris",
        cloud_handoff=True,
        handoff=handoff,
        usage=Usage(prompt_tokens=5, completion_tokens=2),
        model="big",
    )
    body = make_body(make_request(), result)
    assert (body["model"], body["system_fingerprint"]) == ("big", None)
    assert (body["confidence"], body["measures"], body["accepted"]) == (None, None, True)
    assert (body["usage"]["prompt_tokens"], body["usage"]["completion_tokens"]) == (5, 2)
    told = body["handoff"]
    local_usage = told["local_usage"]
    assert (local_usage["prompt_tokens"], local_usage["completion_tokens"]) == (3, 7)
    assert (told["local_model"], told["local_confidence"]) == ("m", 0.2)
    assert told["local_measures"]["min_token_prob"] == 0.1
    assert (told["cost"], told["currency"], told["usage_is_estimated"]) == (0.0125, "USD", False)
    assert "local_text" not in told

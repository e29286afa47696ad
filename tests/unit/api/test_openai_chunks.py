"""A job's stream -> OpenAI's chunks: a transcript byte for byte, and every field of a choice."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from cactus_actors.api.anthropic import MessageEvents
from cactus_actors.api.ollama import OllamaAnswer, OllamaLines
from cactus_actors.api.openai import BodyRequest, Chunks, chunks_of, completion_body
from cactus_actors.protocol.messages import Accepted, Delta, Submit
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.results import Handoff, Result, Timings, TokenLogprob, ToolCall, Usage
from cactus_actors.tools.call_splitter import parse_calls

JOB = "0" * 32
CALL = '<tool_call>\n{"name": "time", "arguments": {"zone": "UTC"}}\n</tool_call>'


TIME = ToolCall("time", {"zone": "UTC"})
TOOLS = [{"type": "function", "function": {"name": "time"}}]


def make_request(endpoint: Any = "chat", num_choices: int = 1, **fields: Any) -> BodyRequest:
    submit = Submit(
        job_id=JOB,
        prompt="Hi",
        options=fields.pop("options", Options()),
        profile=fields.pop("profile", None),
        tools=fields.pop("tools", None),
    )
    return BodyRequest(endpoint=endpoint, submits=[submit] * num_choices, model="m", **fields)


def make_chunks(endpoint: Any = "chat", num_choices: int = 1, **fields: Any) -> Chunks:
    request = make_request(endpoint, num_choices, **fields)
    return chunks_of(request, completion_id="cmpl-123", created=17)


def accepted(**fields: Any) -> Accepted:
    return Accepted(job_id=JOB, epoch=1, prompt_tokens=1, seed=0, **fields)


def delta(text: str, index: int = 0, **fields: Any) -> Delta:
    return Delta(job_id=JOB, index=index, token_ids=[ord(letter) for letter in text], text=text, **fields)


def likely(text: str, logprob: float | None = -0.5) -> TokenLogprob:
    return TokenLogprob(token_id=1, token=text, bytes=list(text.encode()), logprob=logprob)


def entries(chunks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [entry for chunk in chunks for entry in chunk["choices"]]


def contents(chunks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [entry["delta"] for entry in entries(chunks)]


def test_a_text_stream_has_the_expected_chunks() -> None:
    request = BodyRequest(
        endpoint="completion", submits=[Submit(job_id=JOB, prompt="Once upon a time")], model="gpt-3.5-turbo"
    )
    chunks = chunks_of(request, completion_id="cmpl-123", created=1677652288)
    written = chunks.accepted(0, accepted())
    for place, text in enumerate([" in", " a", " small"]):
        written += chunks.delta(0, delta(text, place))
    written += chunks.finished(0, Result(stop_match=2)) + chunks.usage()
    head = '{"id":"cmpl-123","object":"text_completion","created":1677652288,"choices":[{"text":'
    tail = '}],"model":"gpt-3.5-turbo"}'
    assert [msgspec.json.encode(chunk).decode() for chunk in written] == [
        head + '" in","index":0,"logprobs":null,"finish_reason":null' + tail,
        head + '" a","index":0,"logprobs":null,"finish_reason":null' + tail,
        head + '" small","index":0,"logprobs":null,"finish_reason":null' + tail,
        head + '"","index":0,"logprobs":null,"finish_reason":"stop"' + tail,
    ]


def test_a_chat_begins_with_the_role_and_ends_with_the_reason() -> None:
    chunks = make_chunks()
    written = chunks.accepted(0, accepted()) + chunks.delta(0, delta("Hi")) + chunks.delta(0, delta("", 2))
    written += chunks.finished(0, Result(finish_reason="length"))
    assert contents(written) == [{"role": "assistant", "content": ""}, {"content": "Hi"}, {}]
    assert [entry["finish_reason"] for entry in entries(written)] == [None, None, "length"]
    assert {chunk["object"] for chunk in written} == {"chat.completion.chunk"}


def test_the_chunks_of_a_cloud_answer_name_its_model() -> None:
    may_leave = Options(cloud_handoff_threshold=0.5)
    for endpoint, num_chunks in (("chat", 4), ("completion", 3)):
        for options, may_be_late in (
            (may_leave, False),
            (Options(max_entropy=0.5), False),
            (Options(), True),
        ):
            chunks = make_chunks(endpoint, options=options, include_usage=True)
            chunks._tail["system_fingerprint"] = "fp"
            first = chunks.accepted(0, accepted())
            assert bool(first) == (may_be_late and endpoint == "chat")
            written = chunks.delta(0, delta("Hi", model="big"))
            handoff = Handoff(status="completed", model="big")
            written += chunks.finished(0, Result(model="big", cloud_handoff=True, handoff=handoff))
            written += chunks.usage()
            assert len(first + written) == num_chunks
            assert {chunk["model"] for chunk in written} == {"big"}
            assert not [chunk for chunk in written if "system_fingerprint" in chunk]
            assert (written[-1]["confidence"], written[-1]["measures"]) == (None, None)


def test_chunks_of_a_job_that_may_be_handed_off_begin_with_its_first_token() -> None:
    chunks = make_chunks(options=Options(cloud_handoff_threshold=0.5))
    assert chunks.accepted(0, accepted()) == []
    assert contents(chunks.delta(0, delta("Hi"))) == [{"role": "assistant", "content": ""}, {"content": "Hi"}]
    assert contents(chunks.delta(0, delta("!"))) == [{"content": "!"}]
    chunks = make_chunks(options=Options(cloud_handoff_threshold=0.5))
    chunks.accepted(0, accepted())
    assert contents(chunks.finished(0, Result())) == [{"role": "assistant", "content": ""}, {}]


def test_each_chunk_of_a_cascade_s_answer_names_the_model_that_gave_it() -> None:
    for endpoint in ("chat", "completion"):
        request = make_request(endpoint, include_usage=True)
        chunks = chunks_of(request, completion_id="cmpl-123", created=17, is_cascade=True)
        written = chunks.accepted(0, accepted(prompt_text="Once")) + chunks.delta(0, delta("Hi", model="small"))
        written += chunks.finished(0, Result(model="small")) + chunks.usage()
        assert {chunk["model"] for chunk in written} == {"small"}
    events = MessageEvents(make_request(), message_id="msg_1", is_cascade=True)
    assert events.accepted(0, accepted()) == []
    start, *_ = events.finished(0, Result(model="small"))
    assert start["message"]["model"] == "small"


def test_lines_of_ollama_s_format_name_the_model_once_it_is_known() -> None:
    lines = OllamaLines(request := make_request(), OllamaAnswer(request, is_chat=True))
    written = lines.accepted(0, accepted(prompt_text="Once")) + lines.delta(0, delta("Hi", model="small"))
    assert [line["model"] for line in written] == ["m", "small"]


def test_clients_of_ollama_s_format_may_divide_by_the_duration_of_any_answer() -> None:
    answer = OllamaAnswer(make_request(), is_chat=True)
    durations = [
        answer.ending(Result(timings=Timings(time_to_first_token_ms=first, total_time_ms=2.0)))["eval_duration"]
        for first in (0.5, 2.0)
    ]
    assert durations == [1_500_000, 1]


def test_the_last_chunk_names_the_matched_stop_string() -> None:
    [end] = make_chunks().finished(0, Result(stop_match="END"))
    assert end["choices"][0]["stop_reason"] == "END"
    [end] = make_chunks("completion").finished(0, Result(stop_match="END"))
    assert end["choices"][0]["stop_reason"] == "END"


def test_choices_have_their_index_and_a_common_usage() -> None:
    chunks = make_chunks("completion", 2, n=2, include_usage=True)
    written = chunks.delta(1, delta("b")) + chunks.delta(0, delta("a"))
    assert [(entry["index"], entry["text"]) for entry in entries(written)] == [(1, "b"), (0, "a")]
    assert written[0]["usage"] is None
    for choice in (1, 0):
        chunks.finished(choice, Result(usage=Usage(prompt_tokens=3, completion_tokens=2)))
    [last] = chunks.usage()
    assert last["choices"] == []
    assert (last["usage"]["prompt_tokens"], last["usage"]["completion_tokens"]) == (3, 4)
    assert make_chunks().usage() == []


def test_the_mistral_profile_has_its_usage_in_the_last_chunk() -> None:
    [end] = make_chunks(profile="mistral").finished(0, Result(finish_reason="model_length"))
    assert end["choices"][0]["finish_reason"] == "model_length"
    assert end["usage"]["total_tokens"] == 0


def test_an_echoed_prompt_is_the_first_chunk() -> None:
    chunks = make_chunks("completion", options=Options(echo=True))
    [first] = chunks.accepted(0, accepted(prompt_text="Hi"))
    assert first["choices"][0]["text"] == "Hi"
    assert contents(make_chunks().accepted(0, accepted(prompt_text="Once")))[1] == {"content": "Once"}


def test_an_echo_with_log_probabilities_waits_for_them() -> None:
    chunks = make_chunks("completion", options=Options(echo=True, logprobs=0))
    assert chunks.accepted(0, accepted(prompt_text="Hi")) == []
    prompt = [likely("H", None), likely("i")]
    first, second = entries(chunks.delta(0, delta("a", logprobs=[likely("a")], prompt_logprobs=prompt)))
    assert (first["text"], first["logprobs"]["token_logprobs"]) == ("Hi", [None, -0.5])
    assert (second["text"], second["logprobs"]["text_offset"]) == ("a", [2])


def test_an_echo_without_an_answer_is_sent_at_the_end() -> None:
    chunks = make_chunks("completion", options=Options(echo=True, logprobs=0))
    chunks.accepted(0, accepted(prompt_text="Hi"))
    first, end = entries(chunks.finished(0, Result(prompt_logprobs=[likely("H"), likely("i")])))
    assert first["logprobs"]["text_offset"] == [0, 1]
    assert (end["text"], end["finish_reason"]) == ("", "stop")


def test_raw_tokens_are_streamed_instead_of_text() -> None:
    [text] = entries(make_chunks("completion", return_raw_tokens=True).delta(0, delta("ab")))
    assert (text["text"], text["tokens"]) == ("", [97, 98])
    [chat] = entries(make_chunks("chat", return_raw_tokens=True).delta(0, delta("ab")))
    assert (chat["delta"], chat["tokens"]) == ({"content": ""}, [97, 98])


def test_offsets_of_log_probabilities_continue_across_chunks() -> None:
    chunks = make_chunks("completion")
    chunks.delta(0, delta("ab", logprobs=[likely("a"), likely("b")]))
    [second] = entries(chunks.delta(0, delta("c", 2, logprobs=[likely("c")])))
    assert second["logprobs"]["text_offset"] == [2]
    [chat] = entries(make_chunks().delta(0, delta("a", logprobs=[likely("a")])))
    assert [entry["token"] for entry in chat["logprobs"]["content"]] == ["a"]


def collected_calls(chunks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The calls of a stream, assembled as a client does."""
    calls: dict[int, dict[str, Any]] = {}
    for content in contents(chunks):
        for piece in content.get("tool_calls", ()):
            call = calls.setdefault(piece["index"], {"function": {"arguments": ""}})
            call["function"]["arguments"] += piece["function"]["arguments"]
            call["function"] |= {"name": piece["function"]["name"]} if "name" in piece["function"] else {}
            call |= {key: piece[key] for key in ("id", "type") if key in piece}
    return [calls[index] for index in sorted(calls)]


def test_calls_are_removed_from_the_text_and_streamed() -> None:
    chunks = make_chunks(tools=TOOLS)
    written = chunks.accepted(0, accepted(tool_markup="hermes"))
    for place, letter in enumerate(f"Wait. {CALL}{CALL}"):
        written += chunks.delta(0, delta(letter, place))
    written += chunks.finished(0, Result(finish_reason="tool_calls", tool_calls=[TIME, TIME]))
    assert "".join(content.get("content", "") for content in contents(written)).strip() == "Wait."
    told = [content["tool_calls"][0] for content in contents(written) if "tool_calls" in content]
    assert {key: told[0][key] for key in ("index", "type", "function")} == {
        "index": 0,
        "type": "function",
        "function": {"name": "time", "arguments": ""},
    }
    assert told[3] == {"index": 0, "function": {"arguments": "z"}}
    assert entries(written)[-1]["finish_reason"] == "tool_calls"
    calls = collected_calls(written)
    assert [call["function"] for call in calls] == [{"name": "time", "arguments": '{"zone":"UTC"}'}] * 2
    assert calls[0]["id"] != calls[1]["id"]


@pytest.mark.parametrize("text", [f"Wait. {CALL}{CALL}", f"Wait. {CALL}{CALL[:60]}", CALL.replace("}}", ";}")])
@pytest.mark.parametrize("parallel", [True, False])
def test_a_stream_and_a_complete_body_have_the_same_calls(text: str, parallel: bool) -> None:
    chunks = make_chunks(tools=TOOLS, options=Options(parallel_tool_calls=parallel))
    written = chunks.accepted(0, accepted(tool_markup="hermes")) + chunks.delta(0, delta(text))
    parsed = parse_calls("hermes", text, TOOLS)
    parsed = parsed if parallel else parsed.first_call()
    result = Result(
        text=parsed.text,
        finish_reason="tool_calls",
        tool_calls=parsed.calls,
        incomplete_calls=parsed.incomplete_calls,
    )
    written += chunks.finished(0, result)
    body = completion_body(make_request(tools=TOOLS), [result], completion_id="cmpl-123", created=17)
    [choice] = body["choices"]
    assert choice["message"]["tool_calls"] == collected_calls(written)
    assert "".join(content.get("content") or "" for content in contents(written)) == parsed.text
    assert {choice["finish_reason"], entries(written)[-1]["finish_reason"]} == {"tool_calls"}


def test_a_call_of_an_unknown_tool_is_content() -> None:
    for fields in ({}, {"tools": TOOLS, "options": Options(tool_choice="none")}):
        chunks = make_chunks(**fields)
        written = chunks.accepted(0, accepted(tool_markup="hermes")) + chunks.delta(0, delta(CALL))
        written += chunks.finished(0, Result())
        assert collected_calls(written) == []
        assert "".join(content.get("content", "") for content in contents(written)) == CALL


def test_text_that_only_resembles_a_call_is_sent_at_the_end() -> None:
    chunks = make_chunks()
    chunks.accepted(0, accepted(tool_markup="hermes"))
    written = chunks.delta(0, delta("<tool_call>{bro", logprobs=[likely("x")])) + chunks.finished(0, Result())
    assert "".join(content.get("content", "") for content in contents(written)) == "<tool_call>{bro"
    assert any(entry["logprobs"] is not None for entry in entries(written))


def thought(text: str, index: int = 0, **fields: Any) -> Delta:
    return Delta(job_id=JOB, index=index, token_ids=[1], text="", reasoning_content=text, **fields)


def streamed(chunks: Chunks, *deltas: Delta, result: Result | None = None) -> list[dict[str, Any]]:
    """The content of the chunks after the role."""
    written = chunks.accepted(0, accepted())[1:]
    for one in deltas:
        written += chunks.delta(0, one)
    return contents(written + chunks.finished(0, result or Result()))


def test_reasoning_precedes_the_content_under_both_names() -> None:
    assert streamed(make_chunks(), thought("Two and"), thought(" two."), delta("Four", 2)) == [
        {"reasoning_content": "Two and", "reasoning": "Two and"},
        {"reasoning_content": " two.", "reasoning": " two."},
        {"content": "Four"},
        {},
    ]


def test_a_delta_of_reasoning_and_content_is_two_chunks() -> None:
    both = delta("Hi", reasoning_content="so", logprobs=[likely("Hi")])
    chunks = make_chunks()
    chunks.accepted(0, accepted())
    first, second = entries(chunks.delta(0, both))
    assert (first["delta"]["reasoning_content"], first["logprobs"]) == ("so", None)
    assert (second["delta"], second["logprobs"]["content"][0]["token"]) == ({"content": "Hi"}, "Hi")
    [alone] = entries(chunks.delta(0, thought("so", logprobs=[likely("so")])))
    assert alone["delta"]["reasoning"] == "so"
    assert alone["logprobs"]["content"][0]["token"] == "so"


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ("inline", [{"content": "<think>\nso"}, {"content": " it"}, {"content": "\n</think>\n\nHi"}, {}]),
        ("hidden", [{"content": "Hi"}, {}]),
    ],
)
def test_reasoning_is_in_the_content_or_omitted(form: Any, said: list[dict[str, Any]]) -> None:
    chunks = make_chunks(reasoning_format=form)
    assert streamed(chunks, thought("so"), thought(" it", 1), delta("Hi", 2)) == said


def test_reasoning_in_the_content_is_closed_before_a_call_and_not_at_the_end() -> None:
    chunks = make_chunks(reasoning_format="inline", tools=TOOLS)
    chunks.accepted(0, accepted(tool_markup="hermes"))
    chunks.delta(0, thought("so"))
    said = contents(chunks.delta(0, delta(CALL)) + chunks.finished(0, Result(finish_reason="tool_calls")))
    assert said[0] == {"content": "\n</think>\n\n"}
    assert said[1]["tool_calls"][0]["function"]["name"] == "time"
    unclosed = streamed(make_chunks(reasoning_format="inline"), thought("so"))
    assert unclosed == [{"content": "<think>\nso"}, {}]


def test_calls_in_reasoning_are_not_parsed() -> None:
    chunks = make_chunks(tools=TOOLS)
    chunks.accepted(0, accepted(tool_markup="hermes"))
    assert contents(chunks.delta(0, thought(CALL))) == [{"reasoning_content": CALL, "reasoning": CALL}]


@pytest.mark.parametrize("form", ["apart", "inline", "both", "hidden"])
@pytest.mark.parametrize("answer", ["", "Four."])
def test_a_stream_equals_the_complete_body(form: Any, answer: str) -> None:
    result = Result(text=answer, reasoning_content="Two and two.")
    deltas = [thought("Two and"), thought(" two.", 1), delta(answer, 2)]
    said = streamed(make_chunks(reasoning_format=form), *deltas, result=result)
    submit = Submit(job_id=JOB, messages=[])
    request = BodyRequest(endpoint="chat", submits=[submit], reasoning_format=form)
    body = completion_body(request, [result], completion_id="c", created=1)
    whole = body["choices"][0]["message"]
    for name in ("content", "reasoning_content", "reasoning"):
        assert "".join(one.get(name, "") for one in said) == whole.get(name, "")


def test_raw_tokens_have_no_text() -> None:
    chunks = make_chunks(return_raw_tokens=True)
    [entry] = entries(chunks.delta(0, thought("so")))
    assert (entry["delta"], entry["tokens"]) == ({"content": ""}, [1])
    submit = Submit(job_id=JOB, messages=[])
    request = BodyRequest(endpoint="chat", submits=[submit], return_raw_tokens=True)
    result = Result(text="Hi", reasoning_content="so", token_ids=[1, 2])
    body = completion_body(request, [result], completion_id="c", created=1)
    assert body["choices"][0]["message"] == {"role": "assistant", "content": ""}


def test_the_mistral_and_cerebras_profiles_get_whole_calls() -> None:
    two = f"{CALL}\n{CALL}"
    told = {}
    for profile in ("mistral", "cerebras", "cactus"):
        chunks = make_chunks(profile=profile, tools=TOOLS)
        written = chunks.accepted(0, accepted(tool_markup="hermes"))
        for place, letter in enumerate(two):
            written += chunks.delta(0, delta(letter, place))
        written += chunks.finished(0, Result(finish_reason="tool_calls"))
        told[profile] = [call for content in contents(written) for call in content.get("tool_calls", ())]
    assert [call["index"] for call in told["mistral"]] == [0, 1]
    assert told["mistral"] == told["cerebras"]
    for call in told["mistral"]:
        assert call["function"]["name"] == "time"
        assert json.loads(call["function"]["arguments"]) == {"zone": "UTC"}
    assert len(told["cactus"]) > 2  # others take them as they grow

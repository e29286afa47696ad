"""HTTP bodies, lines of prompt files and events of a cloud: accepted, or refused by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cactus_actors.api.conversion import typed
from cactus_actors.api.openai import BodyRequest, request_from_body
from cactus_actors.batch.batch_errors import InputInvalid
from cactus_actors.batch.input_scan import InputScanner
from cactus_actors.batch.prompt_file import PromptFile, RawLine
from cactus_actors.batch.prompt_lines import decode_line, request_of_line
from cactus_actors.client.submit import encoded, new_job_id
from cactus_actors.gateway.http.request_body import strict_json
from cactus_actors.gateway.http.stream_positions import read_event_id
from cactus_actors.gateway.routes.batches import BatchBody
from cactus_actors.gateway.routes.embeddings import EmbeddingsBody, inputs_of
from cactus_actors.gateway.routes.infill import InfillBody, infill_ids
from cactus_actors.gateway.routes.llama_cpp import with_native_fields
from cactus_actors.gateway.routes.text import DetokenizeBody, TokenizeBody
from cactus_actors.handoff.answer_reader import AnswerReader
from cactus_actors.handoff.cloud_failures import CloudFailure, parse_retry_after
from cactus_actors.handoff.sse_decoder import LineTooLong, SSEDecoder
from cactus_actors.protocol.errors import CactusError, InvalidRequest
from cactus_actors.protocol.messages import Submit
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.results import IncompleteCall, ToolCall
from cactus_actors.protocol.wire import client_message_decoder
from cactus_actors.router.preparation.prepare_request import prepare
from cactus_actors.router.state.prepared_request import PreparedRequest
from cactus_actors.tools.call_splitter import CallSplitter, ParsedText, parse_calls
from cactus_actors.tools.markup_table import MARKUPS
from tests.support.fuzzing.damage import changed_json, damaged
from tests.support.fuzzing.judging import answer, fuzzed
from tests.support.fuzzing.values import HUGE_INTEGERS, json_bytes, of_type, texts
from tests.support.router.letter_model import LetterModel

CHAT: dict[str, Any] = {
    "model": "letters",
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "Rain in Rome?"}]},
        {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": "{}"}}]},
        {"role": "tool", "content": "yes", "tool_call_id": "1"},
    ],
    "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}],
    "tool_choice": "auto",
    "n": 2,
    "stream": True,
    "stream_options": {"include_usage": True},
    "response_format": {"type": "json_schema", "json_schema": {"schema": {"type": "integer"}}},
    "stop": ["a"],
}
SAMPLING: dict[str, Any] = {
    "max_tokens": 5,
    "temperature": 0.5,
    "top_p": 0.9,
    "top_k": 4,
    "min_p": 0.1,
    "seed": 7,
    "logit_bias": {"5": -100, "7": 1.5},
    "logprobs": 2,
    "timeout_ms": 1000,
    "priority": 1,
    "repeat_last_n": 64,
    "mirostat": 0,
    "presence_penalty": 0.5,
}
COMPLETION = {
    "prompt": ["Once", [1, "a", 2]],
    "echo": True,
    "suffix": None,
    "return_raw_tokens": False,
    **SAMPLING,
}
URLS = {
    "/v1/chat/completions": CHAT | SAMPLING | {"logprobs": True, "top_logprobs": 2},
    "/v1/completions": COMPLETION,
}


@pytest.fixture(scope="module")
def model() -> LetterModel:
    return LetterModel()


def prepared(submit: Submit, model: LetterModel) -> None:
    """Send the body as a client would, and prepare it as the router does."""
    ready = answer(encoded, submit)
    if isinstance(ready, CactusError):
        return
    sent = answer(client_message_decoder().decode, ready.frames)
    if not isinstance(sent, CactusError):
        outcome = answer(prepare, sent, model)
        assert isinstance(outcome, PreparedRequest | CactusError)


@pytest.mark.parametrize("url", URLS)
@fuzzed(15)
@given(data=st.data(), strict=st.booleans())
def test_changed_openai_bodies_are_prepared_or_refused(
    model: LetterModel, url: str, data: st.DataObject, strict: bool
) -> None:
    body = answer(strict_json, data.draw(changed_json(URLS[url])))
    if isinstance(body, CactusError):
        assert isinstance(body, InvalidRequest)
        return
    asked = answer(request_from_body, url, body, lambda _: new_job_id(), strict=strict)
    if isinstance(asked, BodyRequest):
        prepared(asked.submits[0], model)
    else:
        assert 400 <= asked.status < 500


@fuzzed(15)
@given(submit=of_type(Submit))
def test_requests_of_arbitrary_values_are_prepared_or_refused(model: LetterModel, submit: Submit) -> None:
    answer(prepare, submit, model)


OTHER_BODIES: dict[type, dict[str, Any]] = {
    TokenizeBody: {"content": "a", "add_special": True, "with_pieces": True},
    DetokenizeBody: {"tokens": [1, 2]},
    EmbeddingsBody: {"input": ["a", [1, 2]], "encoding_format": "base64", "dimensions": 3},
    BatchBody: {"input_file_id": "file-1", "endpoint": "/v1/completions", "completion_window": "24h"},
    InfillBody: {"input_prefix": "a", "input_suffix": "b", "input_extra": [{"text": "t", "filename": "f"}]},
}


@pytest.mark.parametrize("kind", OTHER_BODIES)
@fuzzed(5)
@given(data=st.data())
def test_changed_bodies_of_other_routes_are_read_or_refused(
    model: LetterModel, kind: type, data: st.DataObject
) -> None:
    body = answer(strict_json, data.draw(changed_json(OTHER_BODIES[kind])))
    if isinstance(body, CactusError):
        return
    value: Any = answer(typed, body, kind)
    if isinstance(value, EmbeddingsBody):
        answer(inputs_of, value.input)
    elif isinstance(value, InfillBody):
        answer(infill_ids, value, model)  # type: ignore[arg-type]  # it has what is needed


LLAMA_CPP = {
    "prompt": "a",
    "n_predict": 3,
    "n_probs": 2,
    "stop": ["x"],
    "samplers": ["top_k"],
    "json_schema": {},
}


@fuzzed(5)
@given(raw=changed_json(LLAMA_CPP | SAMPLING))
def test_changed_llama_cpp_bodies_are_read_or_refused(raw: bytes) -> None:
    body = answer(strict_json, raw)
    if isinstance(body, dict):
        ours = answer(with_native_fields, body)
        if not isinstance(ours, CactusError):
            answer(request_from_body, "/v1/completions", ours, lambda _: new_job_id())


@fuzzed(10)
@given(text=st.one_of(texts, st.from_regex(r"[0-9a-f]{20,26}:([0-9.e_]{0,20}){0,3}", fullmatch=True)))
def test_arbitrary_event_ids_are_read_or_refused(text: str) -> None:
    answer(read_event_id, text, b"tenant")


# prompt files

LINES: list[Any] = [
    "Once upon a time",
    {"prompt": "Once", "custom_id": "a"} | SAMPLING,
    {"messages": [{"role": "user", "content": "hi"}], "tools": [], "custom_id": "b"},
    {"custom_id": "c", "method": "POST", "url": "/v1/chat/completions", "body": CHAT | {"stream": False}},
]


@fuzzed(15)
@given(data=st.data())
def test_changed_lines_of_prompt_files_are_prepared_or_refused(model: LetterModel, data: st.DataObject) -> None:
    content = data.draw(changed_json(data.draw(st.sampled_from(LINES))))
    line = answer(decode_line, RawLine(3, 100, content), "jsonl")
    if isinstance(line, CactusError):
        assert isinstance(line, InputInvalid)
        return
    asked = answer(request_of_line, line, lambda _: new_job_id(), Options(), line.model)
    if isinstance(asked, BodyRequest):
        prepared(asked.submits[0], model)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("prompts")


@fuzzed(8)
@given(content=damaged(b"\n".join(json_bytes(line) for line in LINES)))
def test_damaged_prompt_files_are_scanned_or_refused(folder: Path, content: bytes) -> None:
    path = folder / "prompts.jsonl"
    path.write_bytes(content)

    def read() -> None:
        with PromptFile(path) as file:
            scanner = InputScanner(file, "jsonl")
            while scanner.step():
                pass

    result = answer(read, names=[str(path)])
    assert result is None or isinstance(result, InputInvalid)


# answers of a cloud

CHUNKS = [
    {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "Hé"}}]},
    {"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"name": "f", "arguments": "{}"}}]}}]},
    {
        "choices": [{"delta": {}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 2},
    },
    {"error": {"message": "overloaded", "code": 503}},
]


@st.composite
def event_streams(draw: st.DrawFn) -> bytes:
    chunks = draw(st.lists(st.sampled_from(CHUNKS), max_size=4))
    lines = [b"data: " + draw(changed_json(chunk) | st.just(json_bytes(chunk))) + b"\n\n" for chunk in chunks]
    whole = b": comment\r\n" + b"".join(lines) + b"data: [DONE]\n\n"
    return draw(damaged(whole)) if draw(st.booleans()) else whole


@fuzzed(15)
@given(stream=event_streams(), cut=st.integers(1, 200))
def test_damaged_event_streams_of_clouds_are_read_or_refused(stream: bytes, cut: int) -> None:
    def read() -> object:
        events, reader = SSEDecoder(), AnswerReader()
        for start in range(0, len(stream), cut):
            for data in events.feed(stream[start : start + cut]):
                "".join(reader.read(data)).encode()
        return reader.answer()

    try:
        result = answer(read)
    except LineTooLong:
        return
    assert not isinstance(result, CactusError) or isinstance(result, CloudFailure)


@fuzzed(8)
@given(
    value=texts | st.floats().map(str) | st.sampled_from([*map(str, HUGE_INTEGERS), "Fri, 31 Dec 9999 23:59:59 -9999"])
)
def test_an_arbitrary_retry_after_is_bounded_or_ignored(value: str) -> None:
    seconds = parse_retry_after(value, "Sun, 09 Sep 2001 01:46:40 GMT")
    assert seconds is None or 0 <= seconds <= 86_400


# output of models

PIECES = (
    *(
        '{"name": "f", "arguments": {"a": [1, "x"]}}',
        '{"name": "f"',
        "```json\n",
        "\n```",
        "<tool_call>",
        "[",
        "]",
    ),
    *(
        "</tool_call>",
        "[TOOL_CALLS]",
        "<|python_tag|>",
        "<|tool_call_start|>",
        "<function=f>",
        "<parameter=a>",
        "</parameter>",
        "</function>",
        "<｜tool▁calls▁begin｜>",
        "<｜tool▁call▁begin｜>f<｜tool▁sep｜>",
        "<tool_call>f<arg_key>a</arg_key><arg_value>",
        "</arg_value>",
        "<|tool_call>call:f{a:",
        "<|channel|>commentary to=functions.f<|message|>",
        ">>>f\n",
        "f(a=1, b='x')",
        ", ",
        "text",
        "\n",
    ),
    *("{" * 50, '"\\ud800"', "é😀", "1e999", "[ARGS]", "-", '{"name": "f", "parameters": {}}; '),
)


@pytest.mark.parametrize("markup", MARKUPS)
@fuzzed(5)
@given(pieces=st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=12))
def test_calls_in_arbitrary_text_are_the_same_in_a_stream_and_in_a_whole(markup: str, pieces: list[str]) -> None:
    text = "".join(pieces)
    whole = answer(parse_calls, markup, text)
    splitter = CallSplitter(markup)
    told = [one for piece in pieces for one in splitter.feed(piece)] + splitter.finish()
    shown = "".join(one for one in told if isinstance(one, str))
    calls = [one for one in told if isinstance(one, ToolCall)]
    assert whole == ParsedText(shown, calls, [one for one in told if isinstance(one, IncompleteCall)])

"""Events and answers, sans I/O: any split of the bytes, every limit, every broken end."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cactus_actors.handoff.answer_reader import MAX_ANSWER_BYTES, AnswerReader, CloudAnswer
from cactus_actors.handoff.cloud_failures import CloudFailure, parse_retry_after, status_failure
from cactus_actors.handoff.request_budget import RequestBudget
from cactus_actors.handoff.sse_decoder import MAX_LINE_BYTES, LineTooLong, SSEDecoder
from cactus_actors.protocol.results import ToolCall, Usage
from cactus_actors.tools.call_splitter import ParsedText, parse_calls
from cactus_actors.tools.markup_table import MARKUPS

STREAM = ': ping\n\ndata: {"a":1}\r\n\r\nevent: x\ndata: one\ndata:two\n\ndata: é✓\n\n'.encode()


def chunk(content: str | None = None, finish_reason: str | None = None, **fields: Any) -> bytes:
    choice = {"delta": {"content": content, **fields}, "finish_reason": finish_reason}
    return json.dumps({"choices": [choice]}).encode()


def read_all(events: list[bytes]) -> CloudAnswer:
    reader = AnswerReader()
    for event in events:
        reader.read(event)
    reader.rest()
    return reader.answer()


@given(st.lists(st.integers(0, len(STREAM)), max_size=8))
def test_events_do_not_depend_on_the_split_of_the_bytes(cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(STREAM)]
    stream = SSEDecoder()
    events = [event for start, end in itertools.pairwise(places) for event in stream.feed(STREAM[start:end])]
    assert events == [b'{"a":1}', b"one\ntwo", "é✓".encode()]


def test_lines_and_events_beyond_the_limit_are_refused() -> None:
    stream = SSEDecoder()
    stream.feed(b"x" * MAX_LINE_BYTES)
    with pytest.raises(LineTooLong):
        stream.feed(b"x")
    stream = SSEDecoder()
    line = b"data:" + b"x" * (MAX_LINE_BYTES // 2) + b"\n"
    stream.feed(line)
    stream.feed(line)
    with pytest.raises(LineTooLong):
        stream.feed(line)


def test_an_answer_has_text_finish_reason_and_usage() -> None:
    reader = AnswerReader()
    assert reader.read(chunk(None, role="assistant")).text == ""
    assert reader.read(chunk("Par")).text == "Par"
    assert reader.read(chunk("is", "length")).text == "is"
    assert reader.read(b'{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}').text == ""
    assert reader.read(b"[DONE]").text == ""
    assert reader.answer() == CloudAnswer("length", Usage(prompt_tokens=3, completion_tokens=2))


@pytest.mark.parametrize("count", [-1, -(10**12), 10**9 + 1, 2**63, 2**64 - 1, 10**30])
@pytest.mark.parametrize("field", ["prompt_tokens", "completion_tokens", "cached_tokens", "reasoning_tokens"])
def test_counts_that_cannot_be_are_no_usage(field: str, count: int) -> None:
    usage: dict[str, Any] = {"prompt_tokens": 3, "completion_tokens": 2}
    match field:
        case "cached_tokens":
            usage["prompt_tokens_details"] = {field: count}
        case "reasoning_tokens":
            usage["completion_tokens_details"] = {field: count}
        case _:
            usage[field] = count
    told = json.dumps({"choices": [], "usage": usage}).encode()
    assert read_all([chunk("Par", "stop"), told]) == CloudAnswer("stop", None)


@pytest.mark.parametrize(
    "after",
    [[], [b"[DONE]"], [b'{"cho'], [b'{"error":{"message":"late"}}'], [chunk("more"), chunk(None, "length")]],
)
def test_an_answer_is_complete_with_its_finish_reason(after: list[bytes]) -> None:
    assert read_all([chunk("Par"), chunk("is", "stop"), *after]) == CloudAnswer("stop", None)
    counts = b'{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}'
    told = Usage(prompt_tokens=3, completion_tokens=2)
    assert read_all([chunk("Par", "stop"), counts, *after]) == CloudAnswer("stop", told)


def test_the_end_of_the_stream_ends_an_event() -> None:
    stream = SSEDecoder()
    assert stream.feed(b"data: one\n\ndata: two") == [b"one"]
    assert stream.end() == [b"two"]
    assert stream.end() == []


@pytest.mark.parametrize("markup", MARKUPS)
def test_tool_calls_in_pieces_become_text_at_the_end(markup: str) -> None:
    reader = AnswerReader(tool_markup=markup)
    reader.read(chunk(tool_calls=[{"index": 0, "function": {"name": "weather", "arguments": ""}}]))
    reader.read(chunk(tool_calls=[{"index": 0, "function": {"arguments": '{"city":'}}]))
    reader.read(chunk(tool_calls=[{"index": 1, "function": {"name": "time", "arguments": "{}"}}]))
    reader.read(chunk(None, "tool_calls", tool_calls=[{"index": 0, "function": {"arguments": '"Paris"}'}}]))
    assert reader.read(b"[DONE]").text == ""
    text = reader.rest().text
    calls = [ToolCall("weather", {"city": "Paris"}), ToolCall("time", {})]
    assert parse_calls(markup, text) == ParsedText("", calls)
    assert reader.answer().finish_reason == "tool_calls"


@pytest.mark.parametrize(
    ("events", "kind"),
    [
        ([chunk("Par")], "cloud_protocol_error"),
        ([chunk("Par"), b"[DONE]"], "cloud_protocol_error"),
        ([chunk("Par", "mystery"), b"[DONE]"], "cloud_protocol_error"),
        ([chunk("Par", "content_filter"), b"[DONE]"], "cloud_rejected"),
        ([b'{"choices":'], "cloud_protocol_error"),
        ([b'{"choices":5}'], "cloud_protocol_error"),
        ([b"[" * 100_000], "cloud_protocol_error"),
        ([b'{"choices":[{"delta":{"content":"\xff"}}]}'], "cloud_protocol_error"),
        ([chunk("x" * (MAX_ANSWER_BYTES // 2))] * 3, "cloud_protocol_error"),
        ([b'{"error":{"message":"boom"}}'], "cloud_server_error"),
        ([b'{"error":{"message":"slow down","code":429}}'], "cloud_overloaded"),
        ([b'{"error":{"message":"bad","code":400}}'], "cloud_rejected"),
        (
            [
                chunk(None, "tool_calls", tool_calls=[{"function": {"name": "f", "arguments": "{"}}]),
                b"[DONE]",
            ],
            "cloud_protocol_error",
        ),
    ],
)
def test_an_incomplete_answer_fails(events: list[bytes], kind: str) -> None:
    with pytest.raises(CloudFailure) as caught:
        read_all(events)
    assert caught.value.kind == kind
    assert caught.value.message.startswith(f"{kind}: ")


@pytest.mark.parametrize(
    ("status", "kind", "outcome", "retriable"),
    [
        (302, "cloud_rejected", "neutral", False),
        (400, "cloud_rejected", "neutral", False),
        (401, "cloud_auth", "neutral", False),
        (403, "cloud_auth", "neutral", False),
        (404, "cloud_rejected", "neutral", False),
        (408, "cloud_rejected", "neutral", True),
        (422, "cloud_rejected", "neutral", False),
        (429, "cloud_overloaded", "neutral", True),
        (500, "cloud_server_error", "failure", True),
        (501, "cloud_server_error", "failure", False),
        (503, "cloud_overloaded", "neutral", True),
        (504, "cloud_server_error", "failure", True),
    ],
)
def test_http_statuses_have_their_failure_kinds(status: int, kind: str, outcome: str, retriable: bool) -> None:
    failure = status_failure(status, "detail")
    assert (failure.kind, failure.outcome, failure.retriable) == (kind, outcome, retriable)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("2", 2.0),
        ("-3", 0.0),
        ("1e9", 86_400.0),
        ("inf", 86_400.0),
        ("nan", None),
        ("soon", None),
        ("Thu, 01 Jan 1970 00:01:40 GMT", 60.0),
        ("Thu, 01 Jan 1970 00:00:10 GMT", 0.0),
    ],
)
def test_both_forms_of_retry_after_are_read(header: str | None, seconds: float | None) -> None:
    assert parse_retry_after(header, "Thu, 01 Jan 1970 00:00:40 GMT") == seconds


@pytest.mark.parametrize("date", [None, "now"])
def test_a_retry_date_without_the_date_of_the_reply_is_ignored(date: str | None) -> None:
    assert parse_retry_after("Thu, 01 Jan 1970 00:01:40 GMT", date) is None


def test_a_budget_bounds_concurrent_jobs_and_total_requests() -> None:
    budget = RequestBudget(max_concurrent=2, max_requests=4)
    budget.start()
    budget.spend()
    budget.start()
    budget.spend()
    assert budget.free_slots == 0
    budget.spend()  # a retry
    budget.end()
    budget.end()
    assert (budget.free_slots, budget.is_spent) == (1, False)
    budget.start()
    budget.spend()
    budget.end()
    assert (budget.free_slots, budget.is_spent) == (0, True)

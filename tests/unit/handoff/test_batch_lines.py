"""The lines of a batch's output: any of them may be damaged, missing, repeated or an error."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cactus_actors.handoff.batches.batch_lines import NO_CHAT_COMPLETION, answers_of, input_lines
from cactus_actors.protocol.cloud_batches import BatchAnswer, BatchQuestion
from cactus_actors.protocol.cloud_question import CloudQuestion
from cactus_actors.protocol.results import ToolCall, Usage
from tests.support.http.batch_cloud import Body, answered, completion, failed

ASKED = {"messages": [{"role": "user", "content": "yes"}]}
USAGE = Usage(prompt_tokens=10, completion_tokens=4)


def lines(*values: Any) -> bytes:
    return b"".join((value if isinstance(value, bytes) else json.dumps(value).encode()) + b"\n" for value in values)


def changed(**choice: Any) -> Body:
    body = completion(ASKED)
    body["choices"][0] |= choice
    return body


def test_answers_are_by_place_whatever_the_order_of_the_lines() -> None:
    output = lines(answered("10", completion(ASKED)), answered("2", completion(ASKED)))
    errors = lines(failed("3", "no"), {"custom_id": "4", "response": None, "error": {"message": "expired"}})
    answers = answers_of([output, errors])
    assert answers == [
        BatchAnswer(place=2, text="YES", usage=USAGE),
        BatchAnswer(place=3, error="cloud_rejected: the cloud answered 400: no"),
        BatchAnswer(place=4, error="cloud_rejected: the cloud gave no answer: expired"),
        BatchAnswer(place=10, text="YES", usage=USAGE),
    ]


def test_unreadable_and_repeated_lines_count_for_nothing() -> None:
    good = answered("0", completion(ASKED))
    damaged = [b"{", b"\xff", b"[]", b'{"custom_id": 1}', answered("x", {}), answered("-1", {}), answered("9" * 9, {})]
    assert answers_of([lines(*damaged, good, failed("0", "again"))]) == [BatchAnswer(place=0, text="YES", usage=USAGE)]


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({}, NO_CHAT_COMPLETION),
        ({"choices": []}, NO_CHAT_COMPLETION),
        ({"choices": [{"message": None}]}, NO_CHAT_COMPLETION),
        (changed(finish_reason="content_filter"), "cloud_rejected: the cloud filtered its answer"),
        (changed(finish_reason="tired"), "cloud_protocol_error: the finish_reason is unknown"),
        (changed(message={"content": ""}), "the cloud's answer was empty"),
        (changed(message={"tool_calls": [{"function": {"name": "f", "arguments": "[]"}}]}), NO_CHAT_COMPLETION),
        (
            changed(message={"content": "x" * 600_000}),
            "cloud_protocol_error: the answer is longer than 524288 bytes",
        ),
    ],
)
def test_what_is_no_answer_is_an_error(body: Body, error: str) -> None:
    [answer] = answers_of([lines(answered("0", body))])
    assert (answer.error, answer.text) == (error, "")


def test_an_answer_has_its_calls_and_reasoning() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "timer", "arguments": '{"minutes": 5}'}}
    message = {"content": None, "reasoning_content": "hm", "tool_calls": [call]}
    [answer] = answers_of([lines(answered("0", changed(message=message, finish_reason="tool_calls")))])
    assert (answer.finish_reason, answer.reasoning) == ("tool_calls", "hm")
    assert answer.tool_calls == [ToolCall("timer", {"minutes": 5})]


def test_secrets_that_a_cloud_echoes_are_masked() -> None:
    def redact(text: str) -> str:
        return text.replace("sk-1", "***")

    echoed = changed(message={"content": "key sk-1"})
    [answer, error] = answers_of([lines(answered("0", echoed), failed("1", "bad key sk-1"))], redact)
    assert (answer.text, error.error) == ("key ***", "cloud_rejected: the cloud answered 400: bad key ***")


def test_a_line_of_the_input_is_a_chat_completion() -> None:
    question = CloudQuestion(messages=ASKED["messages"], max_tokens=3, temperature=0.0, top_p=1.0, seed=5)
    [line] = input_lines([BatchQuestion(4, question)], "big").splitlines()
    assert json.loads(line) == {
        "custom_id": "4",
        "method": "POST",
        "url": "/v1/chat/completions",
        "body": {"model": "big", **ASKED, "max_tokens": 3, "temperature": 0.0, "top_p": 1.0, "seed": 5},
    }

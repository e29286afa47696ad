"""Renders questions as lines of a batch's input, and reads lines of its output. Pure functions."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from cactus_actors.api.openai import question_body
from cactus_actors.handoff.answer_reader import (
    FINISH_REASONS,
    MAX_ANSWER_BYTES,
    MAX_DETAIL_CHARACTERS,
    TokenCounts,
    error_detail,
    usage_from,
)
from cactus_actors.protocol.cloud_batches import BatchAnswer, BatchQuestion
from cactus_actors.protocol.results import ToolCall

NO_CHAT_COMPLETION = "cloud_protocol_error: the answer is not a chat completion"


class _Function(msgspec.Struct, frozen=True):
    name: str
    arguments: str | None = None


class _Call(msgspec.Struct, frozen=True):
    function: _Function


class _Message(msgspec.Struct, frozen=True):
    content: str | None = None
    reasoning_content: str | None = None
    reasoning: Any = None
    tool_calls: list[_Call] | None = None


class _Choice(msgspec.Struct, frozen=True):
    message: _Message
    finish_reason: str | None = None


class _Completion(msgspec.Struct, frozen=True):
    choices: list[_Choice]
    usage: TokenCounts | None = None


class _Response(msgspec.Struct, frozen=True):
    status_code: int = 0
    body: msgspec.Raw = msgspec.Raw(b"null")


class _Line(msgspec.Struct, frozen=True):
    custom_id: str
    response: _Response | None = None
    error: Any = None


def input_lines(questions: Iterable[BatchQuestion], model: str) -> bytes:
    """The input file of a batch; the id of a line is the place of its question."""
    lines = (
        {
            "custom_id": f"{question.place}",
            "method": "POST",
            "url": "/v1/chat/completions",
            "body": question_body(question.question, model),
        }
        for question in questions
    )
    return b"".join(msgspec.json.encode(line) + b"\n" for line in lines)


def answers_of(contents: Sequence[bytes], redact: Callable[[str], str] = str) -> list[BatchAnswer]:
    """The answers and errors in the files of a batch, by place; each place once, and none for an unreadable line.

    `redact` masks secrets: clouds may echo requests.
    """
    answers: dict[int, BatchAnswer] = {}
    decoder = msgspec.json.Decoder(_Line)
    for line in (line for content in contents for line in content.splitlines()):
        with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            decoded = decoder.decode(line)
            if decoded.custom_id.isascii() and decoded.custom_id.isdecimal() and len(decoded.custom_id) < 8:
                place = int(decoded.custom_id)
                answers.setdefault(place, _answer(place, decoded, redact))
    return [answers[place] for place in sorted(answers)]


def _answer(place: int, line: _Line, redact: Callable[[str], str]) -> BatchAnswer:
    response = line.response
    if response is None or response.status_code != 200:
        body = None if response is None else _decoded(response.body)
        reported = line.error or (body.get("error", body) if isinstance(body, dict) else body)
        status = f"the cloud answered {response.status_code}" if response is not None else "the cloud gave no answer"
        detail = redact(error_detail(reported))[:MAX_DETAIL_CHARACTERS]
        return BatchAnswer(place=place, error=f"cloud_rejected: {status}" + (f": {detail}" if detail else ""))
    try:
        completion = msgspec.json.decode(response.body, type=_Completion)
        return _of_completion(place, completion, redact)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return BatchAnswer(place=place, error=NO_CHAT_COMPLETION)


def _of_completion(place: int, completion: _Completion, redact: Callable[[str], str]) -> BatchAnswer:
    usage = None if completion.usage is None else usage_from(completion.usage)
    if not completion.choices:
        return BatchAnswer(place=place, error=NO_CHAT_COMPLETION, usage=usage)
    choice = completion.choices[0]
    message = choice.message
    reason = choice.finish_reason or ""
    reasoning = message.reasoning_content or message.reasoning
    answer = BatchAnswer(
        place=place,
        text=redact(message.content or ""),
        reasoning=redact(reasoning) if isinstance(reasoning, str) else "",
        finish_reason=FINISH_REASONS.get(reason, "stop"),
        tool_calls=[_call(call.function) for call in message.tool_calls or ()],
        usage=usage,
    )
    error = ""
    if reason == "content_filter":
        error = "cloud_rejected: the cloud filtered its answer"
    elif reason not in FINISH_REASONS:
        error = "cloud_protocol_error: the finish_reason is unknown"
    elif not answer.text and not answer.tool_calls:
        error = "the cloud's answer was empty"
    elif len(msgspec.json.encode(answer)) > MAX_ANSWER_BYTES:
        error = f"cloud_protocol_error: the answer is longer than {MAX_ANSWER_BYTES} bytes"
    return BatchAnswer(place=place, error=error, usage=usage) if error else answer


def _call(function: _Function) -> ToolCall:
    """A call; raises DecodeError for arguments that are not a JSON object."""
    return ToolCall(function.name, msgspec.json.decode(function.arguments or "{}", type=dict[str, Any]))


def _decoded(content: msgspec.Raw) -> Any:
    try:
        return msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None

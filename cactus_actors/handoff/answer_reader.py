"""Reads a streamed chat completion, without I/O: data of events in, text and outcome out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec

from cactus_actors.handoff.cloud_failures import CloudFailure, status_failure
from cactus_actors.protocol.results import FinishReason, ToolCall, Usage
from cactus_actors.tools.call_rendering import render_calls

# Keeps a result, and a report of several answers, within the protocol's message limit.
MAX_ANSWER_BYTES = 512 * 1024
MAX_DETAIL_CHARACTERS = 300
MAX_COUNT = 10**9
"""The most tokens that a cloud can have counted for one answer."""

FINISH_REASONS: dict[str, FinishReason] = {
    "stop": "stop",
    "length": "length",
    "model_length": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
}


class _FunctionPiece(msgspec.Struct, frozen=True):
    name: str | None = None
    arguments: str | None = None


class _ToolCallPiece(msgspec.Struct, frozen=True):
    index: int = 0
    function: _FunctionPiece | None = None


class _Delta(msgspec.Struct, frozen=True):
    content: str | None = None
    reasoning_content: str | None = None
    reasoning: Any = None
    tool_calls: list[_ToolCallPiece] | None = None


class _Choice(msgspec.Struct, frozen=True):
    delta: _Delta | None = None
    finish_reason: str | None = None


class _TokenDetails(msgspec.Struct, frozen=True):
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None


class TokenCounts(msgspec.Struct, frozen=True):
    """The `usage` of an answer, as clouds write it."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    prompt_tokens_details: _TokenDetails | None = None
    completion_tokens_details: _TokenDetails | None = None


class _Chunk(msgspec.Struct, frozen=True):
    choices: list[_Choice] = []
    usage: TokenCounts | None = None
    error: Any = None


@dataclass
class _ToolCallText:
    name: str = ""
    arguments: str = ""


class AnswerPiece(NamedTuple):
    """The text and reasoning added by an event."""

    text: str = ""
    reasoning: str = ""


@dataclass(frozen=True)
class CloudAnswer:
    """The end of an answer of the cloud."""

    finish_reason: FinishReason
    usage: Usage | None


@dataclass
class AnswerReader:
    """Reads one answer; every method raises CloudFailure on a protocol violation.

    `redact` masks secrets in error messages of the cloud. Tool calls become text in the format `tool_markup`, as calls
    of `tools`. An answer `is_complete` after its finish_reason, whether or not anything follows; `usage` is what the
    cloud reported, if anything.
    """

    redact: Callable[[str], str] = str
    tool_markup: str = "hermes"
    tools: list[dict[str, Any]] | None = None
    is_done: bool = False
    usage: Usage | None = None
    _finish_reason: str | None = None
    _num_bytes: int = 0
    _tool_calls: dict[int, _ToolCallText] = field(default_factory=dict)

    def read(self, data: bytes) -> AnswerPiece:
        """Read one event; complete tool calls become text."""
        if data == b"[DONE]":
            self.is_done = True
            return AnswerPiece()
        was_complete = self.is_complete
        try:
            chunk = msgspec.json.decode(data, type=_Chunk)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            if was_complete:
                return AnswerPiece()
            raise _protocol_error("a chunk is not a chat completion chunk") from None
        if chunk.usage is not None:
            self.usage = usage_from(chunk.usage)
        if was_complete:
            return AnswerPiece()
        if chunk.error is not None:
            raise _reported_failure(chunk.error, self.redact)
        for choice in chunk.choices[:1]:
            return self._within_limit(self._take(choice))
        return AnswerPiece()

    @property
    def is_complete(self) -> bool:
        """True if the finish_reason has arrived."""
        return self._finish_reason is not None

    def rest(self) -> AnswerPiece:
        """The text added at the end of the stream: the complete tool calls."""
        return self._within_limit(AnswerPiece(self._tool_call_text()))

    def answer(self) -> CloudAnswer:
        """The outcome after the end of the stream; an end without a finish_reason is a failure."""
        if self._finish_reason is None:
            raise _protocol_error("the stream ended without a finish_reason")
        if self._finish_reason == "content_filter":
            raise CloudFailure("cloud_rejected", "the cloud filtered its answer")
        if self._finish_reason not in FINISH_REASONS:
            raise _protocol_error("the finish_reason is unknown")
        return CloudAnswer(FINISH_REASONS[self._finish_reason], self.usage)

    def _take(self, choice: _Choice) -> AnswerPiece:
        self._finish_reason = choice.finish_reason or self._finish_reason
        if choice.delta is None:
            return AnswerPiece()
        for piece in choice.delta.tool_calls or ():
            call = self._tool_calls.setdefault(piece.index, _ToolCallText())
            if piece.function is not None:
                call.name += piece.function.name or ""
                call.arguments += piece.function.arguments or ""
                self._num_bytes += len(piece.function.arguments or "")
        reasoning = choice.delta.reasoning_content or choice.delta.reasoning
        return AnswerPiece(choice.delta.content or "", reasoning if isinstance(reasoning, str) else "")

    def _tool_call_text(self) -> str:
        try:
            return render_calls(
                self.tool_markup,
                [
                    ToolCall(call.name, msgspec.json.decode(call.arguments or "{}", type=dict[str, Any]))
                    for _, call in sorted(self._tool_calls.items())
                ],
                self.tools,
            )
        except (msgspec.DecodeError, RecursionError):
            raise _protocol_error("the arguments of a tool call are not a JSON object") from None

    def _within_limit(self, piece: AnswerPiece) -> AnswerPiece:
        self._num_bytes += sum(len(text.encode()) for text in piece)
        if self._num_bytes > MAX_ANSWER_BYTES:
            raise _protocol_error(f"the answer is longer than {MAX_ANSWER_BYTES} bytes")
        return piece


def error_detail(error: object) -> str:
    """The message of an `error` value, in any shape that servers use."""
    if isinstance(error, dict):
        error = error.get("message") or error.get("detail") or ""
    return " ".join(error.split()) if isinstance(error, str) else ""


def _reported_failure(error: object, redact: Callable[[str], str]) -> CloudFailure:
    """An error reported within a stream with status 200."""
    detail = redact(error_detail(error))[:MAX_DETAIL_CHARACTERS]
    code = error.get("code") if isinstance(error, dict) else None
    if isinstance(code, int) and 400 <= code < 600:
        return status_failure(code, detail)
    return CloudFailure(
        "cloud_server_error",
        "the cloud reported an error",
        detail=detail,
        outcome="failure",
        retriable=True,
    )


def _protocol_error(message: str) -> CloudFailure:
    return CloudFailure("cloud_protocol_error", message)


def usage_from(usage: TokenCounts) -> Usage | None:
    """The counts in this project's form; None if one of them cannot be: negative, or larger than MAX_COUNT."""
    details, of_completion = usage.prompt_tokens_details, usage.completion_tokens_details
    counts = Usage(
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        cached_tokens=(details.cached_tokens or 0) if details else 0,
        reasoning_tokens=(of_completion.reasoning_tokens or 0) if of_completion else 0,
    )
    return counts if all(0 <= count <= MAX_COUNT for count in msgspec.structs.astuple(counts)) else None

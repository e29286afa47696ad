"""Results and errors in the format of Ollama: one JSON object, or one on each line of a stream."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from cactus_actors.api.openai import BodyRequest
from cactus_actors.api.openai.response_fields import extensions_of, model_of
from cactus_actors.protocol.error_info import ErrorInfo
from cactus_actors.protocol.messages import Accepted, Delta
from cactus_actors.protocol.results import Result
from cactus_actors.tools.call_splitter import CallSplitter

_NANOSECONDS = 1_000_000
"""In a millisecond."""


class OllamaAnswer:
    """Writes the result of one request; `is_chat` for a message, else a response of /api/generate."""

    def __init__(self, asked: BodyRequest, *, is_chat: bool) -> None:
        self._asked = asked
        self._is_chat = is_chat
        self._model = asked.model or ""

    def note_model(self, model: str | None) -> None:
        """Let later pieces name the model that answers, if it is the cloud's or a cascade's."""
        self._model = model or self._model

    def whole(self, result: Result) -> dict[str, Any]:
        """The body of an answer that was not streamed."""
        text = (result.prompt_text or "") + result.text
        return self.part(text, result.reasoning_content or "", calls_of(result)) | self.ending(result)

    def part(self, text: str, thinking: str = "", calls: list[dict[str, Any]] | None = None) -> dict[str, Any]:
        """A piece of the answer."""
        more = ({"thinking": thinking} if thinking else {}) | ({"tool_calls": calls} if calls else {})
        head = {"model": self._model, "created_at": now_text()}
        if self._is_chat:
            return {**head, "message": {"role": "assistant", "content": text, **more}, "done": False}
        return {**head, "response": text, **more, "done": False}

    def ending(self, result: Result) -> dict[str, Any]:
        """The fields of the end, with those beyond Ollama's; durations are in nanoseconds."""
        timings, usage = result.timings, result.usage
        extensions = extensions_of(self._asked, result)
        prompt_ms = max(0.0, timings.time_to_first_token_ms - timings.queue_ms)
        answer_ms = timings.total_time_ms - timings.time_to_first_token_ms  # 0 if all tokens were told at once
        return {
            "model": model_of(self._asked, result),
            "done": True,
            "done_reason": "length" if result.finish_reason in ("length", "model_length") else "stop",
            "total_duration": round(timings.total_time_ms * _NANOSECONDS),
            "load_duration": 0,
            "prompt_eval_count": usage.prompt_tokens,
            "prompt_eval_duration": round(prompt_ms * _NANOSECONDS),
            "eval_count": usage.completion_tokens,
            "eval_duration": max(1, round(answer_ms * _NANOSECONDS)),  # clients divide by it
            **extensions,
        }


class OllamaLines:
    """The lines of one request: pieces of text and reasoning, whole calls, and the end."""

    def __init__(self, asked: BodyRequest, answer: OllamaAnswer) -> None:
        self._asked = asked
        self._answer = answer
        self._splitter: CallSplitter | None = None

    def accepted(self, choice: int, accepted: Accepted) -> list[dict[str, Any]]:
        """No line, except for the given beginning of an answer."""
        self._splitter = self._asked.call_splitter(choice, accepted)
        return [self._answer.part(accepted.prompt_text)] if accepted.prompt_text else []

    def delta(self, choice: int, delta: Delta) -> list[dict[str, Any]]:  # noqa: ARG002  it is one choice
        """The new text and reasoning, if there is any."""
        self._answer.note_model(delta.model)
        text = delta.text if self._splitter is None else _texts(self._splitter.feed(delta.text))
        return [self._answer.part(text, delta.reasoning_content)] if text or delta.reasoning_content else []

    def finished(self, choice: int, result: Result) -> list[dict[str, Any]]:  # noqa: ARG002
        """The calls, and the end."""
        text = "" if self._splitter is None else _texts(self._splitter.finish())
        calls = calls_of(result)
        lines = [self._answer.part(text, calls=calls)] if text or calls else []
        return [*lines, self._answer.part("") | self._answer.ending(result)]

    def usage(self) -> list[dict[str, Any]]:
        """No line: the end had the counts."""
        return []


def calls_of(result: Result) -> list[dict[str, Any]]:
    """The calls of an answer that are whole."""
    return [{"function": {"name": call.name, "arguments": call.arguments}} for call in result.tool_calls]


def now_text() -> str:
    """The time of day, as Ollama writes it."""
    return datetime.now(UTC).isoformat().replace("+00:00", "Z")


def ollama_error_body(info: ErrorInfo, request_id: str) -> dict[str, Any]:
    """The body of a failed request: the message in words, our other fields beside it."""
    return {"error": info.message, "type": info.type, "param": info.param, "request_id": request_id}


def _texts(pieces: list[Any]) -> str:
    """The text beside calls."""
    return "".join(piece for piece in pieces if isinstance(piece, str))

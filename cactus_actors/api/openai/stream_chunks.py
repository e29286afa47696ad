"""Renders messages of a job's stream as chunks of OpenAI's streams, as JSON-ready values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from cactus_actors.api.openai.body_request import BodyRequest
from cactus_actors.api.openai.logprobs import TextLogprobs, chat_logprobs, num_left_out
from cactus_actors.api.openai.reasoning_fields import WrittenReasoning
from cactus_actors.api.openai.response_fields import call_of, extensions_of, finish_reason_of, usage_of
from cactus_actors.protocol.messages import Accepted, Delta
from cactus_actors.protocol.results import Result, TokenLogprob
from cactus_actors.tools.call_splitter import CallSplitter
from cactus_actors.tools.pieces import ArgumentsText, CallBegun, Piece

Chunk = dict[str, Any]


class Chunks(ABC):
    """The chunks of one request, whose choices may interleave.

    For each choice: `accepted` first, `delta` for each delta in order, `finished` last; `usage` when all have
    finished. Each may return any number of chunks. With `is_cascade`, the request names a cascade, and the chunks name
    the model of it that answers.
    """

    kind: str

    def __init__(
        self,
        request: BodyRequest,
        *,
        completion_id: str,
        created: int,
        system_fingerprint: str | None = None,
        is_cascade: bool = False,
    ) -> None:
        self._request = request
        self._is_cascade = is_cascade
        self._completion_id = completion_id
        self._head = {"id": completion_id, "object": self.kind, "created": created}
        self._tail: dict[str, Any] = {"model": request.model or ""}
        if system_fingerprint is not None:
            self._tail["system_fingerprint"] = system_fingerprint
        if request.include_usage:
            self._tail["usage"] = None
        self._results: dict[int, Result] = {}
        self._held: dict[int, Accepted] = {}

    def accepted(self, choice: int, accepted: Accepted) -> list[Chunk]:
        """The chunks for the acceptance of that choice's job.

        The first chunk of a choice that may be answered by another model is held back until its model is known.
        """
        self._held[choice] = accepted
        options = self._request.submits[choice].options
        may_leave = self._is_cascade or options.cloud_handoff_threshold or options.max_entropy
        return [] if may_leave else self._begin(choice)

    def delta(self, choice: int, delta: Delta) -> list[Chunk]:
        """The chunks for a new delta of that choice."""
        self._note_model(delta.model)
        return [*self._begin(choice), *self._grow(choice, delta)]

    def finished(self, choice: int, result: Result) -> list[Chunk]:
        """The chunks for the end of a choice: those held back, and the one with its finish reason."""
        self._note_model(result.model if result.cloud_handoff or self._is_cascade else None)
        self._results[choice] = result
        return [*self._begin(choice), *self._last(choice, result)]

    def usage(self) -> list[Chunk]:
        """The chunk with the token counts, if the request asks for one."""
        if not self._request.include_usage:
            return []
        results = [self._results[choice] for choice in sorted(self._results)]
        chunk = self._chunk([]) | {"usage": usage_of(self._request, results)}
        return [chunk | extensions_of(self._request, results[0]) if len(results) == 1 else chunk]

    def _note_model(self, model: str | None) -> None:
        """Let later chunks name the model that answers, if it is the cloud's or a cascade's, without a fingerprint."""
        if model is not None:
            self._tail["model"] = model
            self._tail.pop("system_fingerprint", None)

    def _begin(self, choice: int) -> list[Chunk]:
        accepted = self._held.pop(choice, None)
        return [] if accepted is None else self._open(choice, accepted)

    @abstractmethod
    def _open(self, choice: int, accepted: Accepted) -> list[Chunk]: ...

    @abstractmethod
    def _grow(self, choice: int, delta: Delta) -> list[Chunk]: ...

    @abstractmethod
    def _last(self, choice: int, result: Result) -> list[Chunk]: ...

    def _chunk(self, choices: list[dict[str, Any]]) -> Chunk:
        return {**self._head, "choices": choices, **self._tail}


class TextChunks(Chunks):
    """The stream of `/v1/completions`; an echoed prompt is the first chunk of each choice."""

    kind = "text_completion"

    def __init__(self, request: BodyRequest, **fields: Any) -> None:
        super().__init__(request, **fields)
        self._logprobs = {i: TextLogprobs(request.text_offset(i)) for i in range(len(request.submits))}
        # echoed prompts whose log probabilities arrive with the first token
        self._echoes: dict[int, str] = {}

    def _open(self, choice: int, accepted: Accepted) -> list[Chunk]:
        if accepted.prompt_text is None:
            return []
        self._logprobs[choice] = TextLogprobs()
        logprobs = self._request.submits[choice].options.logprobs
        if logprobs is None or logprobs is False:
            return [self._text(choice, accepted.prompt_text, None)]
        self._echoes[choice] = accepted.prompt_text
        return []

    def _grow(self, choice: int, delta: Delta) -> list[Chunk]:
        echo = self._echo(choice, delta.prompt_logprobs)
        if self._request.return_raw_tokens:
            return [*echo, self._text(choice, "", delta.logprobs, tokens=delta.token_ids)]
        if not delta.text and not delta.logprobs:
            return echo
        return [*echo, self._text(choice, delta.text, delta.logprobs)]

    def _last(self, choice: int, result: Result) -> list[Chunk]:
        end = self._text(choice, "", None, finish_reason=finish_reason_of(self._request, result))
        if isinstance(result.stop_match, str):
            end["choices"][0]["stop_reason"] = result.stop_match
        return [*self._echo(choice, result.prompt_logprobs), end]

    def _echo(self, choice: int, tokens: list[TokenLogprob] | None) -> list[Chunk]:
        text = self._echoes.pop(choice, None)
        return [] if text is None else [self._text(choice, text, tokens, num_left_out(tokens or [], text))]

    def _text(
        self,
        choice: int,
        text: str,
        likely: list[TokenLogprob] | None,
        left_out: int = 0,
        finish_reason: str | None = None,
        **more: Any,
    ) -> Chunk:
        logprobs = self._logprobs[choice].render(likely, num_left_out=left_out) if likely else None
        entry = {"text": text, "index": choice, "logprobs": logprobs, "finish_reason": finish_reason}
        return self._chunk([entry | more])


class ChatChunks(Chunks):
    """The stream of `/v1/chat/completions`: role, reasoning, content, and tool calls piece by piece."""

    kind = "chat.completion.chunk"

    def __init__(self, request: BodyRequest, **fields: Any) -> None:
        super().__init__(request, **fields)
        self._splitters: dict[int, CallSplitter] = {}
        self._num_calls: dict[int, int] = {}
        self._begun: dict[int, dict[str, Any]] = {}
        self._written = [WrittenReasoning(request.reasoning_format) for _ in request.submits]

    def _open(self, choice: int, accepted: Accepted) -> list[Chunk]:
        splitter = self._request.call_splitter(choice, accepted)
        if splitter is not None:
            self._splitters[choice] = splitter
        first = self._delta(choice, {"role": "assistant", "content": ""})
        return [first, self._delta(choice, {"content": accepted.prompt_text})] if accepted.prompt_text else [first]

    def _grow(self, choice: int, delta: Delta) -> list[Chunk]:
        if self._request.return_raw_tokens:
            return [self._delta(choice, {"content": ""}, delta.logprobs, tokens=delta.token_ids)]
        reasoning = self._written[choice].add(delta.reasoning_content)
        chunks = [self._delta(choice, reasoning)] if reasoning else []
        splitter = self._splitters.get(choice)
        if splitter is not None:
            chunks += self._pieces(choice, splitter.feed(delta.text))
            if delta.logprobs:
                chunks.append(self._delta(choice, {}, delta.logprobs))
        elif delta.text or (delta.logprobs and not reasoning):
            chunks.append(self._content(choice, delta.text, delta.logprobs))
        elif delta.logprobs:
            chunks = [self._delta(choice, reasoning, delta.logprobs)]
        return chunks

    def _last(self, choice: int, result: Result) -> list[Chunk]:
        splitter = self._splitters.get(choice)
        chunks = [] if splitter is None else self._pieces(choice, splitter.finish())
        chunks += self._whole_call(choice)
        end = self._delta(choice, {}, finish_reason=finish_reason_of(self._request, result))
        if isinstance(result.stop_match, str):
            end["choices"][0]["stop_reason"] = result.stop_match
        if self._request.is_mistral:
            end["usage"] = usage_of(self._request, [result])
        return [*chunks, end]

    def _pieces(self, choice: int, pieces: list[Piece]) -> list[Chunk]:
        chunks: list[Chunk] = []
        for piece in pieces:
            match piece:
                case str():
                    chunks += [*self._whole_call(choice), self._content(choice, piece)]
                case CallBegun(name):
                    chunks += self._whole_call(choice)
                    place = self._num_calls.get(choice, 0)
                    self._num_calls[choice] = place + 1
                    closing = self._written[choice].end()
                    chunks += [self._delta(choice, {"content": closing})] if closing else []
                    begun = call_of(name, "", self._completion_id, choice, place)
                    if self._request.wants_whole_calls:
                        self._begun[choice] = begun
                    else:
                        chunks += self._call(choice, begun)
                case ArgumentsText(text) if choice in self._begun:
                    self._begun[choice]["function"]["arguments"] += text
                case ArgumentsText(text):
                    chunks += self._call(choice, {"function": {"arguments": text}})
        return chunks

    def _whole_call(self, choice: int) -> list[Chunk]:
        """The chunk of the last call, for clients that accept no call in parts."""
        begun = self._begun.pop(choice, None)
        return [] if begun is None else self._call(choice, begun)

    def _content(self, choice: int, text: str, likely: list[TokenLogprob] | None = None) -> Chunk:
        """A part of the answer, after the end of reasoning that is in the content."""
        return self._delta(choice, {"content": (self._written[choice].end() if text else "") + text}, likely)

    def _call(self, choice: int, fields: dict[str, Any]) -> list[Chunk]:
        """The chunk with more of the last call; none for a second call if only one is allowed."""
        place = self._num_calls[choice] - 1
        if place and self._request.submits[choice].options.parallel_tool_calls is False:
            return []
        return [self._delta(choice, {"tool_calls": [{"index": place, **fields}]})]

    def _delta(
        self,
        choice: int,
        delta: dict[str, Any],
        likely: list[TokenLogprob] | None = None,
        finish_reason: str | None = None,
        **more: Any,
    ) -> Chunk:
        logprobs = chat_logprobs(likely) if likely else None
        entry = {"index": choice, "delta": delta, "logprobs": logprobs, "finish_reason": finish_reason}
        return self._chunk([entry | more])


def chunks_of(
    request: BodyRequest,
    *,
    completion_id: str,
    created: int,
    system_fingerprint: str | None = None,
    is_cascade: bool = False,
) -> Chunks:
    """The chunks of the endpoint of `request`; arguments as for `Chunks` and `completion_body`."""
    make = ChatChunks if request.endpoint == "chat" else TextChunks
    return make(
        request,
        completion_id=completion_id,
        created=created,
        system_fingerprint=system_fingerprint,
        is_cascade=is_cascade,
    )

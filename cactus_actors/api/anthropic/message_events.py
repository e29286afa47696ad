"""The stream of an answer as events of Anthropic's Messages."""

from __future__ import annotations

from typing import Any

from cactus_actors.api.anthropic.message_body import message_head, stop_fields, tool_use_of, usage_of
from cactus_actors.api.openai import BodyRequest, Chunks
from cactus_actors.api.openai.response_fields import extensions_of
from cactus_actors.protocol.messages import Accepted, Delta
from cactus_actors.protocol.results import Result
from cactus_actors.tools.call_splitter import CallSplitter
from cactus_actors.tools.pieces import ArgumentsText, CallBegun, Piece

Event = dict[str, Any]

_TEXT_DELTAS = {"text": "text_delta", "thinking": "thinking_delta", "tool_use": "input_json_delta"}
_TEXT_FIELDS = {"text": "text", "thinking": "thinking", "tool_use": "partial_json"}


class MessageEvents(Chunks):
    """The events of one message: its start, its blocks one after the other, the reason of its end, its stop."""

    kind = "message"

    def __init__(self, request: BodyRequest, *, message_id: str, is_cascade: bool = False) -> None:
        super().__init__(request, completion_id=message_id, created=0, is_cascade=is_cascade)
        self._message_id = message_id
        self._splitter: CallSplitter | None = None
        self._block = ""  # the kind of the open one
        self._num_blocks = 0
        self._num_calls = 0

    def usage(self) -> list[Event]:
        """The last event; token counts were in the one before."""
        return [{"type": "message_stop"}]

    def _open(self, choice: int, accepted: Accepted) -> list[Event]:
        self._splitter = self._request.call_splitter(choice, accepted)
        usage = {"input_tokens": accepted.prompt_tokens, "output_tokens": 0}
        head = message_head(self._message_id, self._tail["model"])
        message = {**head, "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
        return [{"type": "message_start", "message": message}]

    def _grow(self, choice: int, delta: Delta) -> list[Event]:  # noqa: ARG002  a message is one choice
        events = self._text("thinking", delta.reasoning_content)
        if self._splitter is None:
            return events + self._text("text", delta.text)
        return events + self._pieces(self._splitter.feed(delta.text))

    def _last(self, choice: int, result: Result) -> list[Event]:  # noqa: ARG002
        events = [] if self._splitter is None else self._pieces(self._splitter.finish())
        end = {"type": "message_delta", "delta": stop_fields(result), "usage": usage_of(result)}
        return [*events, *self._end_block(), {**end, **extensions_of(self._request, result)}]

    def _pieces(self, pieces: list[Piece]) -> list[Event]:
        events: list[Event] = []
        for piece in pieces:
            match piece:
                case str():
                    events += self._text("text", piece)
                case CallBegun(name):
                    self._num_calls += 1
                    if self._is_refused:
                        continue
                    events += self._end_block()
                    events += self._begin_block("tool_use", tool_use_of(name, self._message_id, self._num_calls - 1))
                case ArgumentsText(text) if not self._is_refused:
                    events.append(self._grown(text))
        return events

    @property
    def _is_refused(self) -> bool:
        """True in a second call where only one is allowed."""
        return self._num_calls > 1 and self._request.submits[0].options.parallel_tool_calls is False

    def _text(self, kind: str, text: str) -> list[Event]:
        """More of the text or of the reasoning, in a block of its own."""
        if not text:
            return []
        begun: list[Event] = []
        if self._block != kind:
            begun = [*self._end_block(), *self._begin_block(kind, _EMPTY[kind])]
        return [*begun, self._grown(text)]

    def _begin_block(self, kind: str, content: dict[str, Any]) -> list[Event]:
        self._block = kind
        return [{"type": "content_block_start", "index": self._num_blocks, "content_block": content}]

    def _grown(self, text: str) -> Event:
        delta = {"type": _TEXT_DELTAS[self._block], _TEXT_FIELDS[self._block]: text}
        return {"type": "content_block_delta", "index": self._num_blocks, "delta": delta}

    def _end_block(self) -> list[Event]:
        if not self._block:
            return []
        self._block = ""
        self._num_blocks += 1
        return [{"type": "content_block_stop", "index": self._num_blocks - 1}]


_EMPTY: dict[str, dict[str, Any]] = {
    "text": {"type": "text", "text": ""},
    "thinking": {"type": "thinking", "thinking": "", "signature": ""},
}

"""The items of an output, from their beginning to their end, as events."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from cactus_actors.api.responses.body_fields import Item
from cactus_actors.api.responses.item_ids import output_item_id
from cactus_actors.api.responses.text_pieces import TextPieces

Event = dict[str, Any]


class OutputItem(ABC):
    """An item that grows by text; its events have no sequence numbers yet.

    Each of `begin`, `grow` and `end` returns the next events; after `end`, `item` is whole.
    """

    kind: ClassVar[str]
    deltas: ClassVar[str]

    def __init__(self, response_id: str, output_index: int, **fields: Any) -> None:
        self.item: Item = {
            "id": output_item_id(self.kind, response_id, output_index),
            "type": self.kind,
            "status": "in_progress",
            **fields,
        }
        self._text: list[str] = []
        self._pieces = TextPieces()
        self._place: Event = {"item_id": self.item["id"], "output_index": output_index}
        self._index = output_index

    def begin(self) -> list[Event]:
        """The item appears."""
        added = {"type": "response.output_item.added", "output_index": self._index, "item": {**self.item}}
        return [added, *self._opened()]

    def grow(self, text: str) -> list[Event]:
        """More of its text."""
        return [self._delta(piece) for piece in self._pieces.feed(text)]

    def end(self, status: str = "completed") -> list[Event]:
        """The rest of its text, and its end."""
        rest = [self._delta(piece) for piece in self._pieces.finish()]
        closed = self._closed("".join(self._text))
        self.item["status"] = status
        done = {"type": "response.output_item.done", "output_index": self._index, "item": {**self.item}}
        return [*rest, *closed, done]

    def _delta(self, piece: str) -> Event:
        self._text.append(piece)
        return {"type": f"response.{self.deltas}.delta", **self._place, "delta": piece, **self._beside_delta()}

    def _beside_delta(self) -> Event:
        return {}

    @abstractmethod
    def _opened(self) -> list[Event]: ...

    @abstractmethod
    def _closed(self, text: str) -> list[Event]: ...


class OutputMessage(OutputItem):
    """The answer's text; with `logprobs` set before the end, it has these."""

    kind = "message"
    deltas = "output_text"

    def __init__(self, response_id: str, output_index: int) -> None:
        super().__init__(response_id, output_index, role="assistant", content=[])
        self.logprobs: list[dict[str, Any]] = []
        self._place["content_index"] = 0

    def _part(self, text: str) -> dict[str, Any]:
        return {"type": "output_text", "text": text, "annotations": [], "logprobs": self.logprobs}

    def _beside_delta(self) -> Event:
        return {"logprobs": []}

    def _opened(self) -> list[Event]:
        return [{"type": "response.content_part.added", **self._place, "part": self._part("")}]

    def _closed(self, text: str) -> list[Event]:
        part = self._part(text)
        self.item["content"] = [part]
        return [
            {"type": "response.output_text.done", **self._place, "text": text, "logprobs": _of_stream(self.logprobs)},
            {"type": "response.content_part.done", **self._place, "part": part},
        ]


class OutputReasoning(OutputItem):
    """The model's reasoning, in clear; there is no summary of it."""

    kind = "reasoning"
    deltas = "reasoning_text"

    def __init__(self, response_id: str, output_index: int) -> None:
        super().__init__(response_id, output_index, summary=[], content=[], encrypted_content=None)
        self._place["content_index"] = 0

    def _opened(self) -> list[Event]:
        part = {"type": "reasoning_text", "text": ""}
        return [{"type": "response.content_part.added", **self._place, "part": part}]

    def _closed(self, text: str) -> list[Event]:
        part = {"type": "reasoning_text", "text": text}
        self.item["content"] = [part]
        return [
            {"type": "response.reasoning_text.done", **self._place, "text": text},
            {"type": "response.content_part.done", **self._place, "part": part},
        ]


class OutputCall(OutputItem):
    """A call of a function, whose text are the arguments."""

    kind = "function_call"
    deltas = "function_call_arguments"

    def __init__(self, response_id: str, output_index: int, *, name: str, call_id: str) -> None:
        super().__init__(response_id, output_index, call_id=call_id, name=name, arguments="")

    def _opened(self) -> list[Event]:
        return []

    def _closed(self, text: str) -> list[Event]:
        self.item["arguments"] = text
        done = {"type": "response.function_call_arguments.done", **self._place, "arguments": text}
        return [done | {"name": self.item["name"]}]


def _of_stream(logprobs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Log probabilities as the events of a stream have them: without bytes."""
    return [
        {
            "token": one["token"],
            "logprob": one["logprob"],
            "top_logprobs": [{"token": other["token"], "logprob": other["logprob"]} for other in one["top_logprobs"]],
        }
        for one in logprobs
    ]

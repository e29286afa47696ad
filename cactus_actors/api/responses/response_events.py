"""The stream of an answer as events of OpenAI's Responses, in their order and with their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from cactus_actors.api.openai import BodyRequest
from cactus_actors.api.openai.logprobs import chat_logprobs
from cactus_actors.api.openai.response_fields import call_of
from cactus_actors.api.responses.output_items import Event, OutputCall, OutputItem, OutputMessage, OutputReasoning
from cactus_actors.api.responses.response_body import ResponseHead, ended_body, failed_body, status_of
from cactus_actors.protocol.error_info import ErrorInfo
from cactus_actors.protocol.messages import Accepted, Delta
from cactus_actors.protocol.results import IncompleteCall, Result, ToolCall
from cactus_actors.tools.call_splitter import CallSplitter
from cactus_actors.tools.pieces import ArgumentsText, CallBegun, Piece


class EndedAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """How a job ended: what was accepted, its result, and its error if it failed.

    `num_reasoning` is the number of characters of reasoning that a stream has shown, if the model reasoned again after
    it began to answer: only the first reasoning is an item.
    """

    tool_markup: str | None = None
    result: Result | None = None
    error: ErrorInfo | None = None
    num_reasoning: int | None = None


class ResponseEvents:
    """The events of one response; those up to the number `starting_after` are left out.

    They depend on the answer's text and result alone: a stream that is read again, in parts or at once, has the same
    events with the same numbers. `answer` and `body` are set at the end.
    """

    def __init__(self, head: ResponseHead, asked: BodyRequest, starting_after: int = -1) -> None:
        self.answer: EndedAnswer | None = None
        self.body: dict[str, Any] = head.body("in_progress")
        self._head = head
        self._asked = asked
        self._starting_after = starting_after
        self._num_events = 0
        self._splitter: CallSplitter | None = None
        self._markup: str | None = None
        self._is_created = self._is_running = False
        self._output: list[OutputItem] = []
        self._open: OutputItem | None = None
        self._num_calls = 0
        self._num_reasoning = 0
        self._reasons_again = False

    def accepted(self, choice: int, accepted: Accepted) -> list[Event]:
        """The beginning, before anything is generated."""
        self._markup = accepted.tool_markup
        self._splitter = self._asked.call_splitter(choice, accepted)
        return self._numbered(self._created() if self._head.is_background else self._running())

    def delta(self, choice: int, delta: Delta) -> list[Event]:  # noqa: ARG002  a response is one choice
        """More of the reasoning, the text or the calls."""
        events = self._running()
        if delta.reasoning_content and len(self._output) > isinstance(self._open, OutputReasoning):
            self._reasons_again = True
        elif delta.reasoning_content:
            self._num_reasoning += len(delta.reasoning_content)
            events += self._text(OutputReasoning, delta.reasoning_content)
        if self._splitter is None:
            events += self._text(OutputMessage, delta.text) if delta.text else []
        else:
            events += self._pieces(self._splitter.feed(delta.text))
        return self._numbered(events)

    def finished(self, choice: int, result: Result) -> list[Event]:  # noqa: ARG002
        """The end of the output, and the whole response."""
        self.answer = self._ended(result, None)
        status = status_of(result)
        events = [*self._running(), *self._rest()]
        if status == "completed" and not any(isinstance(one, OutputMessage | OutputCall) for one in self._output):
            events += self._begin(OutputMessage(self._head.response_id, len(self._output)))
        if isinstance(self._open, OutputMessage) and result.logprobs is not None:
            answered = result.logprobs[result.usage.reasoning_tokens :]
            self._open.logprobs = chat_logprobs(answered)["content"]
        events += self._end("completed" if status == "completed" else "incomplete")
        self.body = ended_body(self._head, self._asked, result, self._items)
        name = "completed" if status == "completed" else "incomplete"
        return self._numbered([*events, {"type": f"response.{name}", "response": self.body}])

    def failed(self, error: ErrorInfo, result: Result | None) -> list[Event]:
        """The end of a job that failed."""
        self.answer = self._ended(result, error)
        events = [*self._running(), *self._rest(), *self._end("incomplete")]
        self.body = failed_body(self._head, error, result, self._items)
        return self._numbered([*events, {"type": "response.failed", "response": self.body}])

    def broken(self, error: ErrorInfo) -> list[Event]:
        """The end of a stream whose response may continue."""
        return self._numbered([{"type": "error", "code": error.type, "message": error.message, "param": error.param}])

    def usage(self) -> list[Event]:
        """Nothing: token counts are in the response."""
        return []

    def replayed(self, answer: EndedAnswer) -> list[Event]:
        """All events of an answer that has ended."""
        accepted = Accepted(job_id="", epoch=0, prompt_tokens=0, seed=0, tool_markup=answer.tool_markup)
        events = self.accepted(0, accepted)
        result = answer.result
        if result is not None:
            text = result.text if result.stream_text is None else result.stream_text
            reasoning = (result.reasoning_content or "")[: answer.num_reasoning]
            events += self.delta(0, Delta(job_id="", index=0, token_ids=[], text=text, reasoning_content=reasoning))
        if answer.error is not None:
            return events + self.failed(answer.error, result)
        return events + self.finished(0, result or Result(finish_reason="cancelled"))

    def _ended(self, result: Result | None, error: ErrorInfo | None) -> EndedAnswer:
        shown = self._num_reasoning if self._reasons_again else None
        return EndedAnswer(tool_markup=self._markup, result=result, error=error, num_reasoning=shown)

    @property
    def _items(self) -> list[dict[str, Any]]:
        return [one.item for one in self._output]

    def _created(self) -> list[Event]:
        """The first event, once, and in the background the one that the job waits."""
        if self._is_created:
            return []
        self._is_created = True
        if not self._head.is_background:
            return [self._state("created", "in_progress")]
        return [self._state("created", "queued"), self._state("queued", "queued")]

    def _running(self) -> list[Event]:
        """The event that the job runs, once, after those before it."""
        if self._is_running:
            return []
        self._is_running = True
        return [*self._created(), self._state("in_progress", "in_progress")]

    def _state(self, name: str, status: str) -> Event:
        return {"type": f"response.{name}", "response": self._head.body(status)}

    def _rest(self) -> list[Event]:
        return [] if self._splitter is None else self._pieces(self._splitter.finish())

    def _text(self, kind: type[OutputMessage | OutputReasoning], text: str) -> list[Event]:
        begun: list[Event] = []
        if not isinstance(self._open, kind):
            begun = self._begin(kind(self._head.response_id, len(self._output)))
        assert self._open is not None
        return [*begun, *self._open.grow(text)]

    def _pieces(self, pieces: Sequence[Piece]) -> list[Event]:
        events: list[Event] = []
        for piece in pieces:
            match piece:
                case str():
                    events += self._text(OutputMessage, piece)
                case CallBegun(name):
                    self._num_calls += 1
                    if not self._is_refused:
                        call_id = call_of(name, "", self._head.response_id, 0, self._num_calls - 1)["id"]
                        index = len(self._output)
                        events += self._begin(OutputCall(self._head.response_id, index, name=name, call_id=call_id))
                case ArgumentsText(text) if isinstance(self._open, OutputCall) and not self._is_refused:
                    events += self._open.grow(text)
                case (ToolCall() | IncompleteCall()) as call if not self._is_refused:
                    events += self._end("completed" if isinstance(call, ToolCall) else "incomplete")
        return events

    @property
    def _is_refused(self) -> bool:
        """True in a second call where only one is allowed."""
        return self._num_calls > 1 and self._asked.submits[0].options.parallel_tool_calls is False

    def _begin(self, item: OutputItem) -> list[Event]:
        ended = self._end("completed")
        self._open = item
        self._output.append(item)
        return [*ended, *item.begin()]

    def _end(self, status: str) -> list[Event]:
        item, self._open = self._open, None
        return [] if item is None else item.end(status)

    def _numbered(self, events: Sequence[Event]) -> list[Event]:
        numbered = [{**event, "sequence_number": self._num_events + place} for place, event in enumerate(events)]
        self._num_events += len(events)
        return [event for event in numbered if event["sequence_number"] > self._starting_after]

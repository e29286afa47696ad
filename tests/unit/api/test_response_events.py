"""The events of a response depend on its answer, not on the parts in which that arrives."""

from __future__ import annotations

import random
from typing import Any

from cactus_actors.api.openai import BodyRequest
from cactus_actors.api.responses import EndedAnswer, ResponseEvents, ResponseHead
from cactus_actors.api.responses.text_pieces import TextPieces
from cactus_actors.protocol.error_info import ErrorInfo
from cactus_actors.protocol.messages import Accepted, Delta, Submit
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.results import IncompleteCall, Result, TokenLogprob, ToolCall, Usage

ID = f"resp_{'1' * 24}"
HEAD = ResponseHead(response_id=ID, created_at=100, repeated={"model": "m", "background": False})
LATER = ResponseHead(response_id=ID, created_at=100, repeated={"model": "m", "background": True})
TOOLS = [{"type": "function", "function": {"name": name}} for name in ("f", "g")]
CALLS = (
    '\n<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>'
    '\n<tool_call>\n{"name": "g", "arguments": {}}\n</tool_call>'
)
TEXT = "Hello world, dies istein_sehr_langes_Wort_ohne_Leerzeichen.  日本語\n\n ok 😀 fin  "
USAGE = Usage(prompt_tokens=3, completion_tokens=9, cached_tokens=1, reasoning_tokens=2)


def asked(**options: Any) -> BodyRequest:
    submit = Submit(job_id="0" * 32, tools=TOOLS, options=Options(**options))
    return BodyRequest(endpoint="chat", submits=[submit], model="m")


def names_of(events: list[dict[str, Any]]) -> list[str]:
    """The types of the events without deltas that follow another one of their kind."""
    names = [event["type"].removeprefix("response.") for event in events]
    return [name for place, name in enumerate(names) if not place or name != names[place - 1]]


def replayed(
    result: Result, head: ResponseHead = HEAD, markup: str | None = "hermes", **options: Any
) -> ResponseEvents:
    events = ResponseEvents(head, asked(**options))
    events.replayed(EndedAnswer(tool_markup=markup, result=result))
    return events


def test_pieces_depend_on_the_text_alone() -> None:
    def cut(chunks: list[str]) -> list[str]:
        pieces = TextPieces()
        return [piece for chunk in chunks for piece in pieces.feed(chunk)] + pieces.finish()

    whole = cut([TEXT])
    assert ("".join(whole), max(map(len, whole))) == (TEXT, 16)
    assert whole[:3] == ["Hello", " world,", " dies"]
    assert cut([*TEXT]) == whole
    drawn = random.Random(1)
    for _ in range(200):
        ends = sorted(drawn.sample(range(len(TEXT)), 9))
        assert cut([TEXT[a:b] for a, b in zip([0, *ends], [*ends, None], strict=True)]) == whole


def test_a_stream_in_parts_has_the_events_of_the_whole_answer() -> None:
    result = Result(
        text=TEXT.rstrip(),
        stream_text=TEXT + CALLS,
        finish_reason="tool_calls",
        reasoning_content="think of it",
        usage=USAGE,
    )
    at_once = ResponseEvents(HEAD, asked())
    expected = at_once.replayed(EndedAnswer(tool_markup="hermes", result=result))
    drawn = random.Random(2)
    for _ in range(50):
        events = ResponseEvents(HEAD, asked())
        seen = events.accepted(0, Accepted(job_id="", epoch=1, prompt_tokens=3, seed=1, tool_markup="hermes"))
        for name, text in (("reasoning_content", "think of it"), ("text", TEXT + CALLS)):
            at = 0
            while at < len(text):
                to = at + drawn.randint(1, 12)
                part = Delta(**({"job_id": "", "index": 0, "token_ids": [], "text": ""} | {name: text[at:to]}))
                seen += events.delta(0, part)
                at = to
        assert seen + events.finished(0, result) == expected
        assert (events.body, events.answer) == (at_once.body, at_once.answer)
    assert [event["sequence_number"] for event in expected] == [*range(len(expected))]
    assert names_of(expected) == [
        *("created", "in_progress"),
        *("output_item.added", "content_part.added", "reasoning_text.delta"),
        *("reasoning_text.done", "content_part.done", "output_item.done"),
        *("output_item.added", "content_part.added", "output_text.delta"),
        *("output_text.done", "content_part.done", "output_item.done"),
        *("output_item.added", "function_call_arguments.delta", "function_call_arguments.done", "output_item.done"),
        *("output_item.added", "function_call_arguments.delta", "function_call_arguments.done", "output_item.done"),
        "completed",
    ]
    kinds = [(item["type"], item["status"]) for item in at_once.body["output"]]
    assert kinds == [(kind, "completed") for kind in ("reasoning", "message", "function_call", "function_call")]
    assert [item["arguments"] for item in at_once.body["output"][2:]] == ['{"a":1}', "{}"]
    done = [event["item"] for event in expected if event["type"] == "response.output_item.done"]
    assert done == at_once.body["output"]


def test_only_the_first_reasoning_is_an_item() -> None:
    events = ResponseEvents(HEAD, asked())
    seen = events.accepted(0, Accepted(job_id="", epoch=1, prompt_tokens=3, seed=1))
    for text, reasoning in (("", "first"), ("Well. ", ""), ("", "second"), ("So.", "")):
        seen += events.delta(0, Delta(job_id="", index=0, token_ids=[], text=text, reasoning_content=reasoning))
    seen += events.finished(0, Result(text="Well. So.", reasoning_content="firstsecond"))
    assert [item["type"] for item in events.body["output"]] == ["reasoning", "message"]
    assert events.answer is not None
    assert ResponseEvents(HEAD, asked()).replayed(events.answer) == seen


def test_events_after_a_number() -> None:
    result = Result(text=TEXT, usage=USAGE)
    answer = EndedAnswer(result=result)
    whole = ResponseEvents(HEAD, asked()).replayed(answer)
    for number in range(-1, len(whole)):
        assert ResponseEvents(HEAD, asked(), number).replayed(answer) == whole[number + 1 :]


def test_a_second_call_is_left_out_where_one_is_allowed() -> None:
    result = Result(stream_text=CALLS, finish_reason="tool_calls", tool_calls=[ToolCall("f", {"a": 1})])
    [call] = replayed(result, parallel_tool_calls=False).body["output"]
    assert (call["name"], call["arguments"], call["status"]) == ("f", '{"a":1}', "completed")


def test_a_call_that_broke_off_is_incomplete() -> None:
    text = CALLS[: CALLS.index("1}")]
    cut = Result(stream_text=text, finish_reason="length", incomplete_calls=[IncompleteCall(0, "f", '{"a":')])
    body = replayed(cut).body
    [call] = body["output"]
    assert (call["name"], call["arguments"], call["status"]) == ("f", '{"a":', "incomplete")
    assert (body["status"], body["incomplete_details"]) == ("incomplete", {"reason": "max_output_tokens"})


def test_an_answer_without_text_is_an_empty_message() -> None:
    [message] = replayed(Result(), markup=None).body["output"]
    assert (message["type"], message["content"][0]["text"]) == ("message", "")
    assert replayed(Result(finish_reason="cancelled"), markup=None).body["output"] == []


def test_a_background_response_is_queued_first() -> None:
    events = ResponseEvents(LATER, asked())
    begun = events.accepted(0, Accepted(job_id="", epoch=1, prompt_tokens=3, seed=1))
    assert [(event["type"], event["response"]["status"]) for event in begun] == [
        ("response.created", "queued"),
        ("response.queued", "queued"),
    ]
    assert names_of(events.delta(0, Delta(job_id="", index=0, token_ids=[1], text="a ")))[0] == "in_progress"


def test_a_response_whose_acceptance_was_lost_has_all_events() -> None:
    for head, first in ((HEAD, ["created", "in_progress"]), (LATER, ["created", "queued", "in_progress"])):
        told = ResponseEvents(head, asked()).finished(0, Result())
        assert names_of(told)[: len(first)] == first


def test_log_probabilities_of_the_answer_are_in_its_message() -> None:
    logprobs = [TokenLogprob(token_id=place, token=word, logprob=-1.0) for place, word in enumerate("tuab")]
    [thought, message] = replayed(
        Result(text="ab", reasoning_content="tu", logprobs=logprobs, usage=USAGE), markup=None
    ).body["output"]
    assert (thought["type"], [one["token"] for one in message["content"][0]["logprobs"]]) == ("reasoning", ["a", "b"])


def test_a_failure_ends_the_open_item_and_the_response() -> None:
    events = ResponseEvents(HEAD, asked())
    error = ErrorInfo(type="timeout_error", status=504, message="too late")
    told = events.replayed(EndedAnswer(result=Result(text="so far", success=False), error=error))
    assert told[-1] == {"type": "response.failed", "response": events.body, "sequence_number": len(told) - 1}
    assert (events.body["status"], events.body["error"]["code"]) == ("failed", "server_error")
    assert (events.body["output"][0]["status"], events.body["output"][0]["content"][0]["text"]) == (
        "incomplete",
        "so far",
    )
    [broken] = events.broken(ErrorInfo(type="unavailable_error", status=503, message="stopping"))
    assert broken == {
        "type": "error",
        "code": "unavailable_error",
        "message": "stopping",
        "param": None,
        "sequence_number": len(told),
    }

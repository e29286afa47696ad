"""Gives results of calls to chat templates in the form that they read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

Message = Mapping[str, Any]

RESPONSES = "tool_responses"
"""The field of a message of calls that has their results, in templates of Gemma 4."""


def with_result_role(messages: Sequence[Message], role: str) -> list[Message]:
    """The conversation with results of calls in the role that the template has for them (OLMo 3: environment)."""
    return [{**message, "role": role} if message.get("role") == "tool" else message for message in messages]


def with_results_beside_calls(messages: Sequence[Message]) -> list[Message]:
    """The conversation with results in `tool_responses` of the message that has their calls.

    The text of such a message comes before it, as a message of its own, and the answer to the results is its text:
    all are one turn of the model. Results that follow no call stay.
    """
    turns: list[Message] = []
    num_results = 0
    for message in messages:
        calls = turns[-1].get("tool_calls") if turns else None
        if message.get("role") != "tool" or not calls:
            if num_results and message.get("role") == "assistant" and not message.get("tool_calls"):
                turns[-1] = {**turns[-1], "content": message.get("content")}
            else:
                turns.append(message)
            num_results = 0
            continue
        if num_results == 0:
            turns[-1:] = _without_text(turns[-1])
        responses = [*turns[-1].get(RESPONSES, ()), _response(message, calls, num_results)]
        turns[-1] = {**turns[-1], RESPONSES: responses}
        num_results += 1
    return turns


def _without_text(message: Message) -> list[Message]:
    """A message of calls, after its text as a message of its own if there is one."""
    if not message.get("content"):
        return [message]
    text = {name: value for name, value in message.items() if name != "tool_calls"}
    return [text, {**message, "content": ""}]


def _response(message: Message, calls: Sequence[Any], place: int) -> dict[str, Any]:
    """The result of a call, found by its id or else by its place; the text of an object is that object."""
    ids = [call.get("id") for call in calls if isinstance(call, Mapping)]
    number = ids.index(message["tool_call_id"]) if message.get("tool_call_id") in ids else min(place, len(calls) - 1)
    call = calls[number] if isinstance(calls[number], Mapping) else {}
    function = call.get("function", call)
    name = message.get("name") or (function.get("name") if isinstance(function, Mapping) else None) or ""
    return {"name": name, "response": _value(message.get("content"))}


def _value(content: Any) -> Any:
    """The object that a text is, or the text; texts of parts are joined."""
    if isinstance(content, list):
        content = "".join(part.get("text") or "" for part in content if isinstance(part, Mapping))
    if not isinstance(content, str):
        return ""
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return content
    return value if isinstance(value, dict) else content

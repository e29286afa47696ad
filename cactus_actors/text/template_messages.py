"""Converts messages in OpenAI's format to the form that chat templates read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any


def with_decoded_arguments(messages: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The messages with the arguments of each tool call as an object instead of the JSON text of one.

    Other arguments are unchanged.
    """
    return [
        {**message, "tool_calls": [_decoded(call) for call in calls]}
        if isinstance(calls := message.get("tool_calls"), list | tuple)
        else message
        for message in messages
    ]


def with_content(messages: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The messages, each with `content`, empty where it is missing, and none with an empty list of calls.

    Many templates concatenate or search contents without a check, or read the first call of any list.
    """
    given = map(_without_empty_calls, messages)
    return [message if "content" in message else {**message, "content": ""} for message in given]


def _without_empty_calls(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """The message without an empty list of calls."""
    if message.get("tool_calls", True):
        return message
    return {name: value for name, value in message.items() if name != "tool_calls"}


def _decoded(call: Any) -> Any:
    function = call.get("function") if isinstance(call, Mapping) else None
    if not isinstance(function, Mapping) or not isinstance(function.get("arguments"), str):
        return call
    try:
        arguments = json.loads(function["arguments"])
    except (ValueError, RecursionError):
        return call
    if not isinstance(arguments, dict):
        return call
    return {**call, "function": {**function, "arguments": arguments}}

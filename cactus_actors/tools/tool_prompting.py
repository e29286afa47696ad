"""Adds tools, calls and results to messages as text, for chat templates that do not render them."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from cactus_actors.protocol.errors import TemplateInvalid
from cactus_actors.protocol.results import ToolCall
from cactus_actors.tools.call_rendering import render_calls
from cactus_actors.tools.markup_table import markup_named

Message = Mapping[str, Any]
Tool = Mapping[str, Any]

_INSTRUCTIONS = """\
You can call these functions:
{functions}
To call functions, answer with nothing but one call after the other in this form:
{example}
Call one only if the request needs it; otherwise answer in plain words."""
_EXAMPLE = ToolCall("function_name", {"parameter_name": "value"})
_SYSTEM = "You are a helpful assistant with some tools."
"""The system message of Microsoft's examples for Phi-4-mini."""
_NINE = re.compile(r"[a-zA-Z0-9]{9}")


class ControlText(str):
    """A text of a message whose control tokens are intended: texts of others in it are shielded already."""

    __slots__ = ()


def mentions_tools(messages: Sequence[Message]) -> bool:
    """True if there are calls or results among the messages."""
    return any(message.get("role") == "tool" or message.get("tool_calls") for message in messages)


def with_tools_in_text(
    messages: Sequence[Message], tools: Sequence[Tool], markup: str, shield: Callable[[str], str]
) -> list[Message]:
    """The conversation with the tools described in the system message, or else in the first user's."""
    functions = "\n".join(json.dumps(one, ensure_ascii=False) for one in _functions(tools))
    example = render_calls(markup, [_EXAMPLE])
    written = _INSTRUCTIONS.format(functions=shield(functions), example=example)
    turns = list(messages)
    for place, turn in enumerate(turns):
        if turn.get("role") == "system":
            text = ControlText(f"{shield(_text(turn))}\n\n{written}")
            turns[place] = {**turn, "content": text}
            return turns
        if turn.get("role") == "user":
            turns[place] = {**turn, "content": _with_text_before(f"{written}\n\n", turn.get("content"), shield)}
            return turns
    return [{"role": "user", "content": ControlText(written)}, *turns]


def with_tools_in_system(messages: Sequence[Message], tools: Sequence[Tool]) -> list[Message]:
    """The conversation with the tools as JSON in a field of the system message, as for Phi-4-mini."""
    written = json.dumps(_functions(tools), ensure_ascii=False)
    first, *others = messages
    if first.get("role") == "system":
        return [{**first, "tools": written}, *others]
    return [{"role": "system", "content": _SYSTEM, "tools": written}, *messages]


def with_calls_in_text(
    messages: Sequence[Message], tools: Sequence[Tool], markup: str, shield: Callable[[str], str]
) -> list[Message]:
    """The conversation with calls as text of the assistant, as the model writes them."""
    turns: list[Message] = []
    for message in messages:
        if message.get("tool_calls"):
            calls = render_calls(markup, list(_calls(message["tool_calls"])), tools or None, shield=shield)
            text = "\n".join(part for part in (shield(_text(message)), calls) if part)
            message = {"role": message["role"], "content": ControlText(text)}
        turns.append(message)
    return turns


def with_calls_one_by_one(messages: Sequence[Message]) -> list[Message]:
    """The conversation with several calls of a message as messages of one, each before its results."""
    turns: list[Message] = []
    results: list[Message] = []
    for message in reversed(messages):
        if message.get("role") == "tool":
            results.insert(0, message)
            continue
        calls = message.get("tool_calls") or ()
        parts = _one_by_one(message, list(calls), results) if len(calls) > 1 else [message, *results]
        turns[:0], results = parts, []
    return [*results, *turns]


def _one_by_one(message: Message, calls: list[Any], results: list[Message]) -> list[Message]:
    """Each call with the results of its id, or those in its turn; the first has the text and the reasoning."""
    parts: list[Message] = []
    ids = [call["id"] if isinstance(call, Mapping) and call.get("id") else object() for call in calls]
    turns = [
        ids.index(result["tool_call_id"]) if result.get("tool_call_id") in ids else min(place, len(calls) - 1)
        for place, result in enumerate(results)
    ]
    for place, call in enumerate(calls):
        rest = message if place == 0 else {"role": message["role"], "content": ""}
        parts.append({**rest, "tool_calls": [call]})
        parts += [result for turn, result in zip(turns, results, strict=True) if turn == place]
    return parts


def with_results_in_text(messages: Sequence[Message]) -> list[Message]:
    """The conversation with results as messages of the user, consecutive ones joined."""
    turns: list[Message] = []
    results: list[str] = []
    for message in messages:
        if message.get("role") != "tool":
            results.clear()
            turns.append(message)
            continue
        results.append(f"{message.get('name') or 'The function'} returned: {_text(message)}")
        if len(results) > 1:
            turns.pop()
        turns.append({"role": "user", "content": "\n".join(results)})
    return turns


def without_empty_content(messages: Sequence[Message]) -> list[Message]:
    """The conversation without the text of messages that are only calls."""
    return [
        {**message, "content": None} if message.get("tool_calls") and not message.get("content") else message
        for message in messages
    ]


def with_call_ids(messages: Sequence[Message], markup: str) -> list[Message]:
    """The conversation with ids of calls in the family's form, if its templates render or check them."""
    form = markup_named(markup).call_ids
    if form == "any":
        return list(messages)
    renamed: dict[str, str] = {}
    turns: list[Message] = []
    num_calls = 0
    for message in messages:
        calls = []
        for call in message.get("tool_calls") or ():
            old = str(call.get("id") or num_calls)
            name = call.get("function", call).get("name")
            renamed[old] = f"functions.{name}:{num_calls}" if form == "numbered" else _nine(old)
            calls.append({**call, "id": renamed[old]})
            num_calls += 1
        if calls:
            message = {**message, "tool_calls": calls}
        if message.get("role") == "tool" and "tool_call_id" in message:
            old = str(message["tool_call_id"])
            message = {**message, "tool_call_id": renamed.get(old, _nine(old))}
        turns.append(message)
    return turns


def _nine(name: str) -> str:
    return name if _NINE.fullmatch(name) else hashlib.blake2b(name.encode()).hexdigest()[:9]


def _functions(tools: Sequence[Tool]) -> list[Any]:
    functions = [tool.get("function", tool) for tool in tools]
    try:
        json.dumps(functions)
    except (TypeError, ValueError, RecursionError):
        raise TemplateInvalid("tools are not plain data, or nested too deep", param="tools") from None
    return functions


def _with_text_before(text: str, content: Any, shield: Callable[[str], str]) -> Any:
    if isinstance(content, list):
        return [{"type": "text", "text": ControlText(text)}, *content]
    return ControlText(text + shield(content or ""))


def _calls(calls: Sequence[Any]) -> Iterator[ToolCall]:
    for call in calls:
        function = call.get("function", call) if isinstance(call, Mapping) else {}
        arguments = function.get("arguments")
        if isinstance(arguments, str):
            try:
                arguments = json.loads(arguments)
            except (ValueError, RecursionError):
                arguments = {"text": arguments}
        yield ToolCall(str(function.get("name", "")), arguments if isinstance(arguments, dict) else {})


def _text(message: Message) -> str:
    content = message.get("content")
    if isinstance(content, list):
        return "".join(part.get("text") or "" for part in content if isinstance(part, Mapping))
    return content if isinstance(content, str) else ""

"""Tools in words, for chat templates that know of none."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cactus_actors.protocol.errors import TemplateInvalid
from cactus_actors.protocol.results import ToolCall
from cactus_actors.tools.markup import render_calls

_INSTRUCTIONS = """\
You can call these functions:
{functions}
To call functions, answer with nothing but one JSON object a call in a block:
```json
{{"name": "the function", "arguments": {{"parameter": "value"}}}}
```
Call one only if the request needs it; otherwise answer in plain words."""


def with_tools_told(
    messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]], markup: str
) -> list[Mapping[str, Any]]:
    """The conversation with tools, calls and results in its texts instead of beside them.

    The tools are told in the system message, or else at the beginning of the first user's; calls are text of
    the assistant, and results that follow one another are one message of the user.
    """
    turns: list[Mapping[str, Any]] = []
    results: list[str] = []
    for message in messages:
        if message.get("role") == "tool":
            results.append(f"{message.get('name') or 'The function'} returned: {_text(message)}")
            if len(results) > 1:
                turns.pop()
            turns.append({"role": "user", "content": "\n".join(results)})
            continue
        results.clear()
        if message.get("tool_calls"):
            calls = render_calls(markup, list(_calls(message["tool_calls"])))
            text = "\n".join(part for part in (_text(message), calls) if part)
            message = {"role": message["role"], "content": text}
        turns.append(message)
    return _with_instructions(turns, tools) if tools else turns


def mentions_tools(messages: Sequence[Mapping[str, Any]]) -> bool:
    """Whether there are calls or results among the messages."""
    return any(message.get("role") == "tool" or message.get("tool_calls") for message in messages)


def _with_instructions(
    turns: list[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    try:
        functions = "\n".join(json.dumps(tool.get("function", tool), ensure_ascii=False) for tool in tools)
    except (TypeError, ValueError, RecursionError):
        raise TemplateInvalid("tools are no plain data, or nested too deep", param="tools") from None
    instructions = _INSTRUCTIONS.format(functions=functions)
    for place, turn in enumerate(turns):
        if turn.get("role") == "system":
            turns[place] = {**turn, "content": f"{_text(turn)}\n\n{instructions}"}
            return turns
        if turn.get("role") == "user":
            turns[place] = {**turn, "content": _with_text_before(f"{instructions}\n\n", turn.get("content"))}
            return turns
    return [{"role": "user", "content": instructions}, *turns]


def _with_text_before(text: str, content: Any) -> Any:
    return [{"type": "text", "text": text}, *content] if isinstance(content, list) else text + (content or "")


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


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):
        return "".join(part.get("text") or "" for part in content if isinstance(part, Mapping))
    return content if isinstance(content, str) else ""

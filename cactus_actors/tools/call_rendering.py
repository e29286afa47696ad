"""Renders calls in the markup of a model family."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cactus_actors.protocol.results import ToolCall
from cactus_actors.tools.call_splitter import Tools, parse_calls
from cactus_actors.tools.form import Form
from cactus_actors.tools.markup_table import markup_named
from cactus_actors.tools.tool_functions import parameters_by_name


def render_calls(
    markup: str,
    calls: Sequence[ToolCall],
    tools: Tools | None = None,
    *,
    shield: Callable[[str], str] = str,
) -> str:
    """The text that is parsed as `calls` of `tools` under `markup`; empty without calls.

    A call that the markup's own form cannot express, such as one with the form's marks in an argument, is JSON.
    `shield` is applied to everything but the marks around the calls.
    """
    parameters = {} if tools is None else parameters_by_name(tools)
    row = markup_named(markup)
    texts: list[str] = []
    start = 0
    while start < len(calls):
        form = row.forms[0] if _holds(row.forms[0], markup, calls[start], tools) else row.json_form
        end = start + 1
        while end < len(calls) and (form is row.json_form or _holds(form, markup, calls[end], tools)):
            end += 1
        texts.append(_written(form, calls[start:end], parameters, shield))
        start = end
    return "\n".join(texts)


def _holds(form: Form, markup: str, call: ToolCall, tools: Tools | None) -> bool:
    parameters = {} if tools is None else parameters_by_name(tools)
    parsed = parse_calls(markup, _written(form, [call], parameters), tools)
    return (parsed.text, parsed.calls, parsed.incomplete_calls) == ("", [call], [])


def _written(
    form: Form,
    calls: Sequence[ToolCall],
    parameters: Mapping[str, Any],
    shield: Callable[[str], str] = str,
) -> str:
    bodies = [shield(form.body.write(call, parameters.get(call.name))) for call in calls]
    inside = form.separator.join(f"{form.begin}{body}{form.end}" for body in bodies)
    return f"{''.join(form.open)}{inside}{''.join(form.close)}"

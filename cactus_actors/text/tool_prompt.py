"""Converts a conversation with tools to the form of a chat template."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from cactus_actors.text.template_abilities import TemplateAbilities
from cactus_actors.tools import tool_prompting, tool_results

Messages = Sequence[Mapping[str, Any]]
Tools = Sequence[Mapping[str, Any]]


class ToolPrompt(NamedTuple):
    """The messages and tools for a template."""

    messages: Messages
    tools: Tools | None


def tool_prompt(
    messages: Messages,
    tools: Tools,
    abilities: TemplateAbilities,
    markup: str,
    shield: Callable[[str], str],
) -> ToolPrompt:
    """Parts of tool use that the template does not render are added to texts of messages, calls in `markup`.

    `shield` keeps texts of others from being read as control tokens.
    """
    messages = tool_prompting.with_call_ids(messages, markup)
    if not abilities.shows_calls:
        messages = tool_prompting.with_calls_in_text(messages, tools, markup, shield)
    elif abilities.takes_one_call:
        messages = tool_prompting.with_calls_one_by_one(messages)
    if abilities.takes_responses:
        messages = tool_results.with_results_beside_calls(messages)
    elif abilities.result_role is None:
        messages = tool_prompting.with_results_in_text(messages)
    else:
        messages = tool_results.with_result_role(messages, abilities.result_role)
    if abilities.lacks_content:
        messages = tool_prompting.without_empty_content(messages)
    if not tools or abilities.tools_name is not None:
        return ToolPrompt(messages, abilities.given(tools) or None)
    if abilities.tools_in_system:
        return ToolPrompt(tool_prompting.with_tools_in_system(messages, tools), None)
    return ToolPrompt(tool_prompting.with_tools_in_text(messages, tools, markup, shield), None)

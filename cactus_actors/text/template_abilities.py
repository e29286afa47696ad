"""A chat template's support of tools, found by rendering a conversation with tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from cactus_actors.protocol.errors import TemplateInvalid
from cactus_actors.text.chat_template import ChatTemplate
from cactus_actors.tools.tool_prompting import with_tools_in_system
from cactus_actors.tools.tool_results import RESPONSES, with_result_role, with_results_beside_calls

_TOOL, _CALL, _RESULT = "probe_of_a_tool", "probe_of_a_call", "probe of a result"
_SECOND = "probe_of_another_call"
_SCHEMA = {
    "type": "object",
    "properties": {"place": {"type": "string", "description": "A place."}},
    "required": ["place"],
}
_TOOLS = [{"type": "function", "function": {"name": _TOOL, "description": "A tool.", "parameters": _SCHEMA}}]
_BARE_TOOLS = [{"type": "function", "function": {"name": _TOOL, "parameters": _SCHEMA}}]
_CALLS = [{"id": "a1b2c3d4e", "type": "function", "function": {"name": _CALL, "arguments": '{"place": "Rome"}'}}]
_TWO_CALLS = [*_CALLS, {"id": "f6a7b8c9d", "type": "function", "function": {"name": _SECOND, "arguments": "{}"}}]
_OTHER_ROLE = "environment"
"""The role of results in OLMo 3."""
_VARIABLES = ("tools", "xml_tools")
"""Names of the variable with the tools; SmolLM3's takes bare functions under the second name."""


class TemplateAbilities(NamedTuple):
    """The parts of tool use that a template renders by itself.

    The template reads tools from the variable `tools_name`, or from the system message, or not at all.
    `shows_calls` says if those of a conversation appear in the prompt. Their results appear as messages of the
    `result_role`, None if of no role; a template that `takes_responses` reads them only from the message of the
    calls.
    `lacks_content` says if a message of only calls has no text at all, instead of an empty one, `takes_one_call` if
    at most one call of a message is rendered, `needs_descriptions` if a tool without one is not.
    """

    tools_name: str | None = "tools"
    tools_in_system: bool = False
    shows_calls: bool = True
    result_role: str | None = "tool"
    takes_responses: bool = False
    lacks_content: bool = False
    takes_one_call: bool = False
    needs_descriptions: bool = False

    def given(self, tools: Sequence[Mapping[str, Any]]) -> list[Any]:
        """Tools in OpenAI's wrapper in the shape that the template takes."""
        if self.needs_descriptions:
            tools = [_described(tool) for tool in tools]
        return [tool.get("function", tool) if self.tools_name == "xml_tools" else tool for tool in tools]

    @property
    def has_any(self) -> bool:
        """True if the template does anything with tools or calls."""
        return self.tools_name is not None or self.tools_in_system or self.shows_calls


ALL_ABILITIES = TemplateAbilities()
"""A template that renders everything."""


def abilities_of(template: ChatTemplate) -> TemplateAbilities:
    """The abilities of `template`; one that refuses the conversation has none."""
    question = [_user("Hi")]
    name = next((name for name in _VARIABLES if _TOOL in _rendered(template, question, name)), None)
    in_system = name is None and _TOOL in _rendered(template, with_tools_in_system(question, _TOOLS), None)
    with_empty = _rendered(template, _conversation(""), name)
    without = _rendered(template, _conversation(None), name)
    is_better = _CALL in without and without != with_empty and "None" not in without
    prompt = without if is_better else with_empty
    without_calls = _rendered(template, _conversation("", calls=()), name)
    role = "tool" if _RESULT in prompt or _RESULT in without_calls else None
    if role is None and _RESULT in _rendered(template, with_result_role(_conversation(""), _OTHER_ROLE), name):
        role = _OTHER_ROLE
    called = _conversation("")[:3]
    with_responses = _rendered(template, with_results_beside_calls(called), name)
    # A template that writes messages as JSON shows any field; one that finds results after calls needs no other place.
    is_dump, is_same = RESPONSES in with_responses, with_responses == _rendered(template, called, name)
    with_two = _rendered(template, _conversation(None if is_better else "", calls=_TWO_CALLS), name)
    return TemplateAbilities(
        tools_name=name,
        tools_in_system=in_system,
        shows_calls=_CALL in prompt,
        result_role=role,
        takes_responses=_CALL in prompt and _RESULT in with_responses and not (is_dump or is_same),
        lacks_content=is_better,
        takes_one_call=_CALL in prompt and _SECOND not in with_two,
        needs_descriptions=name is not None and _TOOL not in _rendered(template, question, name, tools=_BARE_TOOLS),
    )


def _conversation(content: str | None, *, calls: Sequence[Mapping[str, Any]] = _CALLS) -> list[Mapping[str, Any]]:
    called = {"tool_calls": list(calls)} if calls else {}
    return [
        _user("Hi"),
        {"role": "assistant", "content": content, **called},
        {"role": "tool", "name": _CALL, "tool_call_id": "a1b2c3d4e", "content": _RESULT},
        {"role": "assistant", "content": "So."},
        _user("And?"),
    ]


def _user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def _described(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    """The tool with a description, be it an empty one."""
    function = tool.get("function")
    if isinstance(function, Mapping):
        return {**tool, "function": {"description": "", **function}}
    return {"description": "", **tool}


def _rendered(
    template: ChatTemplate,
    messages: Sequence[Mapping[str, Any]],
    tools_name: str | None,
    tools: Sequence[Mapping[str, Any]] = _TOOLS,
) -> str:
    """The prompt with a tool in the variable `tools_name`; empty if the template fails."""
    given = TemplateAbilities(tools_name).given(tools) if tools_name else None
    try:
        return template.render(messages, given, tools_name=tools_name or "tools")
    except TemplateInvalid:
        return ""

"""The table of markups: the format of each family's calls, and their parsing."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cactus_actors.protocol.results import IncompleteCall, ToolCall
from cactus_actors.tools.call_rendering import render_calls
from cactus_actors.tools.call_splitter import CallSplitter, ParsedText, parse_calls
from cactus_actors.tools.markup_table import MARKUPS
from cactus_actors.tools.pieces import ArgumentsText, CallBegun
from tests.support.text.tool_calls import (
    MCP,
    NOW,
    ONE_CALL,
    ROUTE,
    ROUTE_JSON,
    ROUTE_PYTHON,
    ROUTE_TAGS,
    SOLAR,
    TOOLS,
    named,
)

NOTE = ToolCall("save_note", {"text": 'First "line"\n  second\t<b>', "tags": {"kind": "memo", "pinned": True}})


def streamed(markup: str, text: str, tools: Sequence[dict[str, Any]] | None) -> tuple[ParsedText, list[Any]]:
    """The output for a text that is fed letter by letter, and its streamed arguments."""
    splitter = CallSplitter(markup, tools)
    pieces = [piece for letter in text for piece in splitter.feed(letter)] + splitter.finish()
    arguments: list[str] = []
    for piece in pieces:
        if isinstance(piece, CallBegun):
            arguments.append("")
        elif isinstance(piece, ArgumentsText):
            arguments[-1] += piece.text
    shown = "".join(piece for piece in pieces if isinstance(piece, str))
    calls = [piece for piece in pieces if isinstance(piece, ToolCall)]
    incomplete = [piece for piece in pieces if isinstance(piece, IncompleteCall)]
    return ParsedText(shown, calls, incomplete), list(map(json.loads, arguments))


@pytest.mark.parametrize(("markup", "text"), ONE_CALL)
def test_one_call_is_read_in_every_markup(markup: str, text: str) -> None:
    for tools in (TOOLS, None):
        assert parse_calls(markup, f"\n {text}\n", tools) == ParsedText("", [ROUTE])
        assert streamed(markup, text, tools) == (ParsedText("", [ROUTE]), [ROUTE.arguments])
    assert parse_calls(markup, text, [{"name": "other"}]).calls == []


def test_built_in_tools_of_llama_are_called_by_a_method() -> None:
    text = f"<|python_tag|>{ROUTE_PYTHON.replace('route(', 'route.call(')}"
    assert parse_calls("llama3", text, TOOLS) == ParsedText("", [ROUTE])


def test_every_markup_has_an_example() -> None:
    assert {markup for markup, _ in ONE_CALL} >= MARKUPS.keys() - {"deepseek_v4"}


@pytest.mark.parametrize("markup", MARKUPS)
def test_rendered_calls_are_parsed_back(markup: str) -> None:
    for calls, tools in itertools.product(([NOW], [NOTE], [ROUTE, NOW], [NOW, NOTE, ROUTE]), (TOOLS, None)):
        text = render_calls(markup, calls, tools)
        assert parse_calls(markup, text, tools) == ParsedText("", calls)
        assert parse_calls(markup, f"I will. {text}", tools) == ParsedText("I will.", calls)
        assert streamed(markup, text, tools) == (ParsedText("", calls), [call.arguments for call in calls])


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        (
            f'<tool_call>{named()}</tool_call>\n<tool_call>{{"name": "now", "arguments": {{}}}}</tool_call>',
            "hermes",
        ),
        (f'<tool_call>{named()}\n{{"name": "now", "arguments": {{}}}}</tool_call>', "hermes"),
        (f'{named(arguments="parameters")}; {{"name": "now", "parameters": {{}}}}', "llama3"),
        (f"[TOOL_CALLS]plan_route[ARGS]{ROUTE_JSON}[TOOL_CALLS]now[ARGS]{{}}", "mistral"),
        (f"```tool_code\n{ROUTE_PYTHON}\nnow()\n```", "gemma"),
        (f"plan_route\n{ROUTE_JSON}>>>now\n{{}}", "functionary_v32"),
        (f"plan_route\n{ROUTE_JSON}<|assistant|>now\n{{}}", "glm4"),
        (
            f"<|tool_calls|>{SOLAR}<|tool_call:begin|>x<|tool_call:name|>now<|tool_call:args|>{{}}<|tool_call:end|>",
            "solar_open",
        ),
        (
            f"<use_mcp_tool>\n<server_name>a</server_name>\n{MCP}\n<server_name>b</server_name>\n"
            "<tool_name>now</tool_name>\n<arguments>\n{}\n</arguments>\n</use_mcp_tool>",
            "mirothinker",
        ),
        (
            f"<tool_call>{ROUTE_TAGS}</tool_call><tool_call><function=now></function></tool_call>",
            "qwen3_coder",
        ),
    ],
)
def test_several_calls_are_read(text: str, calls: str) -> None:
    assert parse_calls(calls, text, TOOLS) == ParsedText("", [ROUTE, NOW])


def note(value: str, name: str = "text") -> dict[str, Any]:
    """The arguments of a call in Qwen3-Coder's form with this text as the only value."""
    argument = f"<parameter={name}>\n{value}\n</parameter>"
    text = f"<tool_call>\n<function=save_note>\n{argument}\n</function>\n</tool_call>"
    [call] = parse_calls("qwen3_coder", text, TOOLS).calls
    return call.arguments


def test_unquoted_values_have_the_types_of_the_schema() -> None:
    assert note("12") == {"text": "12"}
    assert note('"quoted"') == {"text": '"quoted"'}
    assert note("") == {"text": ""}
    assert note("\nblank lines around\n") == {"text": "\nblank lines around\n"}
    assert note("a </parameter> b") == {"text": "a </parameter> b"}
    assert note("null", "id") == {"id": None}
    assert note("12", "id") == {"id": "12"}
    assert note('"12"', "id") == {"id": "12"}
    assert note("True", "share") == {"share": True}
    assert note("perhaps", "share") == {"share": "perhaps"}
    assert note("{'a': [1, None]}", "tags") == {"tags": {"a": [1, None]}}
    assert note('{"x": "</parameter>\\n</function>"}', "tags") == {"tags": {"x": "</parameter>\n</function>"}}
    assert note("12", "of_nothing_known") == {"of_nothing_known": 12}
    assert note("twelve", "of_nothing_known") == {"of_nothing_known": "twelve"}


def test_unquoted_strings_are_unchanged() -> None:
    splitter = CallSplitter("qwen3_coder", TOOLS)
    assert splitter.feed("<tool_call>\n<function=save_note>\n<parameter=text>\n") == [
        CallBegun("save_note"),
        ArgumentsText('{"text":"'),
    ]
    assert splitter.feed('say "hi"\n') == [ArgumentsText('say \\"hi\\"')]
    assert splitter.feed("</para") == []
    assert splitter.feed("graph>") == [ArgumentsText("\\n</paragraph>")]
    assert splitter.feed("\n</parameter>\n") == []
    [*_, call] = splitter.feed("</function>")
    assert call == ToolCall("save_note", {"text": 'say "hi"\n</paragraph>'})


def test_python_arguments_are_unchanged() -> None:
    splitter = CallSplitter("lfm2", TOOLS)
    assert splitter.feed("<|tool_call_start|>[save_note(") == []
    assert splitter.feed("text=") == [CallBegun("save_note"), ArgumentsText('{"text":')]
    assert splitter.feed("'one\\n") == [ArgumentsText('"one\\n')]
    assert splitter.feed("two', tags={'pinned': Tr") == [ArgumentsText('two","tags":{"pinned":')]
    assert splitter.feed("ue})]")[0] == ArgumentsText("true}}")


def test_role_and_channel_marks_are_not_text() -> None:
    assert parse_calls("functionary_v32", "all\nHello.\nThere.", TOOLS) == ParsedText("Hello.\nThere.")
    assert parse_calls("functionary_v32", "all\nLet me look.>>>now\n{}", TOOLS) == ParsedText("Let me look.", [NOW])
    final = "<|channel|>final<|message|>Hello.<|return|>"
    assert parse_calls("harmony", final, TOOLS) == ParsedText("Hello.")
    assert parse_calls("harmony", f"<|start|>assistant{final}", TOOLS) == ParsedText("Hello.")
    preamble = "<|channel|>commentary<|message|>Let me look.<|end|><|start|>assistant"
    call = "<|channel|>commentary to=functions.now <|constrain|>json<|message|>{}<|call|>"
    assert parse_calls("harmony", preamble + call, TOOLS) == ParsedText("Let me look.", [NOW])
    answer = "<|content|>Let me look.<|end|><|begin|>assistant<|tool_calls|>"
    call = "<|tool_call:begin|>x<|tool_call:name|>now<|tool_call:args|>{}<|tool_call:end|>"
    assert parse_calls("solar_open", answer + call, TOOLS) == ParsedText("Let me look.", [NOW])
    assert parse_calls("command_r7b", "<|START_RESPONSE|>Hi.<|END_RESPONSE|>", TOOLS).text.count("Hi.") == 1


NAMES = st.from_regex(r"[a-zA-Z0-9_-]{1,12}", fullmatch=True)
TEXTS = st.text(max_size=8) | st.sampled_from(
    [
        "</parameter>",
        "\n",
        "5",
        "null",
        "true",
        '"x"',
        '<|"|>',
        "]]>",
        "</arg_value>",
        "```",
        "'",
        "\\",
        " x ",
    ]
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
ARGUMENTS = st.dictionaries(st.from_regex(r"[a-z_]{1,6}", fullmatch=True) | st.text(max_size=4), VALUES, max_size=3)
CALLS = st.lists(st.builds(ToolCall, NAMES, ARGUMENTS), min_size=1, max_size=3)
TYPES = st.sampled_from(["string", "integer", "number", "boolean", "object", "array", ["string", "null"], None])


@given(st.sampled_from(list(MARKUPS)), CALLS, st.data())
def test_arbitrary_rendered_calls_are_parsed_back(markup: str, calls: list[ToolCall], data: st.DataObject) -> None:
    properties: dict[str, dict[str, Any]] = {}
    for call in calls:
        for name in call.arguments:
            kind = data.draw(TYPES)
            properties.setdefault(call.name, {})[name] = {"type": kind} if kind else {}
    tools = [
        {"name": call.name, "parameters": {"type": "object", "properties": properties.get(call.name, {})}}
        for call in calls
    ]
    for offered in (tools, None):
        text = "So: " + render_calls(markup, calls, offered)
        assert parse_calls(markup, text, offered) == ParsedText("So:", calls)
        assert streamed(markup, text, offered) == (ParsedText("So:", calls), [call.arguments for call in calls])

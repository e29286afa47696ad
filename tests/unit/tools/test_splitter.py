"""Parsing tool calls in a text: calls, text that is not a call, and any split of a stream."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cactus_actors.protocol.results import IncompleteCall, ToolCall
from cactus_actors.tools.call_rendering import render_calls
from cactus_actors.tools.call_splitter import CallSplitter, ParsedText, parse_calls
from cactus_actors.tools.markup_table import MARKUPS
from cactus_actors.tools.pieces import (
    MAX_ARGUMENTS,
    MAX_CALLS,
    MAX_DEPTH,
    MAX_HEAD,
    MAX_REREAD,
    ArgumentsText,
    CallBegun,
    Piece,
)

WEATHER = ToolCall("weather", {"city": "Paris"})
TIME = ToolCall("time", {})
JSON = '{"name": "weather", "arguments": {"city": "Paris"}}'
TOOLS = [{"type": "function", "function": {"name": name}} for name in ("weather", "time")]
NO_CALLS = [
    '{"name": 1, "arguments": {}}',
    '{"name": "", "arguments": {}}',
    '{"name": "f", "arguments": [1]}',
    '{"name": "f", "arguments": "no object"}',
    '{"name": "f", "arguments": "{}{}"}',
    '{"name": "f", "arguments": "{\\"a\\": NaN}"}',
    '{"name": "f"}',
    '{"name": "f", "arguments": nothing}',
    '{"arguments": {"a": 01}, "name": "f"}',
    '{"arguments": {}, "name": "f"',
    '{"function": {"function": {"name": "f", "arguments": {}}}}',
    "[]",
    "{broken",
]


def split(markup: str, chunks: list[str]) -> list[Piece]:
    splitter = CallSplitter(markup)
    return [piece for chunk in chunks for piece in splitter.feed(chunk)] + splitter.finish()


def joined(pieces: list[Piece]) -> ParsedText:
    return ParsedText(
        "".join(piece for piece in pieces if isinstance(piece, str)),
        [piece for piece in pieces if isinstance(piece, ToolCall)],
        [piece for piece in pieces if isinstance(piece, IncompleteCall)],
    )


def told(text: str, *calls: ToolCall) -> ParsedText:
    return ParsedText(text, list(calls))


def test_text_around_calls_is_kept_without_the_space_between() -> None:
    call = f"<tool_call>{JSON}</tool_call>"
    assert parse_calls("hermes", f"Let me look.\n\n{call}\n") == told("Let me look.", WEATHER)
    assert parse_calls("hermes", f"{call}\nThat was it.") == told("That was it.", WEATHER)
    assert parse_calls("hermes", f" a\n{call}\nb{call} c ") == told(" a\nb c", WEATHER, WEATHER)


@pytest.mark.parametrize("markup", MARKUPS)
def test_text_without_calls_is_unchanged(markup: str) -> None:
    texts = [
        " ",
        "",
        "\n hello \n",
        '{"answer": 42}\n',
        '{"city": {"name": "Paris"}}',
        "[1] says so. [see](https://a.example/b) and [x, y]",
        "{",
        "a < b [TOOL",
        "```py\nx\n```",
        "f(x) = <b>1</b> <parameter> <function",
    ]
    for text in texts:
        assert parse_calls(markup, text) == told(text)


@pytest.mark.parametrize("markup", MARKUPS)
def test_a_call_malformed_before_its_arguments_is_text(markup: str) -> None:
    form = MARKUPS[markup].json_form
    for text in (*(f"I say {form.mark}{body}{''.join(form.close)} so." for body in NO_CALLS), *NO_CALLS):
        assert parse_calls(markup, text, [{"name": "f"}]) == told(text)


@pytest.mark.parametrize("markup", MARKUPS)
def test_a_call_of_an_unknown_tool_is_text(markup: str) -> None:
    """A JSON answer may look like a call: Paris is a city here."""
    answer = '{"name": "Paris", "parameters": {"inhabitants": 2100000}}'
    assert parse_calls(markup, answer, TOOLS) == told(answer)
    for call in (ToolCall("storm", {"city": "Paris"}), ToolCall("storm", {})):
        text = f"So {render_calls(markup, [call])}"
        assert parse_calls(markup, text, []).calls == []
        assert parse_calls(markup, text, TOOLS) == parse_calls(markup, text, [])
        assert parse_calls(markup, text) == told("So", call)


@pytest.mark.parametrize(
    ("broken", "arguments"),
    [
        ('{"city": "Par', '{"city":"Par'),
        ('{"city": ', '{"city":'),
        ("{", "{"),
        ('{"city": "\\', '{"city":"'),
        ('{"at": [1, {"x": tr', '{"at":[1,{"x":'),
    ],
)
def test_a_truncated_call_is_incomplete(broken: str, arguments: str) -> None:
    text = f'Look: <tool_call>{{"name": "weather", "arguments": {broken}'
    assert parse_calls("hermes", text, TOOLS) == ParsedText("Look:", [], [IncompleteCall(0, "weather", arguments)])


def test_a_call_with_malformed_arguments_is_incomplete_and_the_rest_is_text() -> None:
    call = f"<tool_call>{JSON}</tool_call>"
    text = f'<tool_call>{{"name": "time", "arguments": {{"a": 1; "b"}}}}</tool_call>{call}'
    parsed = parse_calls("hermes", text)
    assert parsed == ParsedText('; "b"}}</tool_call>', [WEATHER], [IncompleteCall(0, "time", '{"a":1')])
    assert parsed.first_call() == ParsedText('; "b"}}</tool_call>', [], parsed.incomplete_calls)


def test_arguments_that_cannot_be_encoded_are_incomplete() -> None:
    text = '{"name": "f", "arguments": {"a": 18446744073709551616}}'
    assert parse_calls("hermes", text).incomplete_calls == [IncompleteCall(0, "f", '{"a":18446744073709551616}')]


def test_a_broken_list_of_calls_keeps_the_earlier_ones() -> None:
    assert parse_calls("hermes", f"<tool_call>[{JSON}, 3]</tool_call>") == told(", 3]</tool_call>", WEATHER)


def test_a_malformed_call_does_not_hide_the_next() -> None:
    text = f"<tool_call> is a mark. <tool_call>{{broken</tool_call> <tool_call>{JSON}</tool_call>"
    assert parse_calls("hermes", text) == told(text[: text.rindex(" <tool_call>")], WEATHER)


def test_marks_in_arguments_are_text() -> None:
    marks = '</tool_call> ``` [TOOL_CALLS] <tool_call> } ] \' \\" </parameter>\n</function> <|"|> ]]> '
    text = marks + "<｜tool▁call▁end｜>"
    for markup in MARKUPS:
        call = ToolCall("say", {"text": text})
        assert parse_calls(markup, render_calls(markup, [call])) == told("", call)


@pytest.mark.parametrize(
    "body",
    [
        "[f(1)]",
        "[f(**x)]",
        "[f(g())]",
        "[f(a)]",
        "[see f(x)]",
        "[f()()",
    ],
)
def test_python_other_than_a_plain_call_is_text(body: str) -> None:
    text = f"<|tool_call_start|>{body}<|tool_call_end|>"
    assert parse_calls("lfm2", text).text[:1] in ("<", "(")
    assert parse_calls("lfm2", text).calls in ([], [ToolCall("f", {})])


def test_python_arguments_are_json_values() -> None:
    text = (
        "[spotify.play(a=[1, -2.5, (None, true)], b={'c': \"d'e\", \"f\": False}, g='\\d\\x41\\u00e9\\n', "
        "h='one ' \"two\", i='''three\n''', j=1_000, k='\\101', )]"
    )
    arguments = {
        "a": [1, -2.5, [None, True]],
        "b": {"c": "d'e", "f": False},
        "g": "\\dA\u00e9\n",
        "h": "one two",
        "i": "three\n",
        "j": 1000,
        "k": "A",
    }
    assert parse_calls("lfm2", text) == told("", ToolCall("spotify.play", arguments))


def test_unescaped_newlines_in_json_strings_are_accepted() -> None:
    text = '<tool_call>{"name": "run", "arguments": {"code": "a\n\tb"}}</tool_call>'
    assert parse_calls("hermes", text) == told("", ToolCall("run", {"code": "a\n\tb"}))


def test_calls_have_bounds() -> None:
    def call(argument: str) -> str:
        return f'<tool_call>{{"name":"f","arguments":{{"a":{argument}}}}}</tool_call>'

    def num_calls(text: str) -> int:
        return len(parse_calls("hermes", text).calls)

    assert num_calls(call("[" * (MAX_DEPTH - 1) + "]" * (MAX_DEPTH - 1))) == 1
    assert num_calls(call("[" * MAX_DEPTH + "]" * MAX_DEPTH)) == 0
    assert num_calls(call('"' + "x" * (MAX_ARGUMENTS - 100) + '"')) == 1
    assert num_calls(call('"' + "x" * MAX_ARGUMENTS + '"')) == 0
    assert num_calls(f'<tool_call>{{"id":"{"x" * (MAX_HEAD - 100)}",{JSON[1:]}') == 1
    assert num_calls(f'<tool_call>{{"id":"{"x" * MAX_HEAD}",{JSON[1:]}') == 0
    assert num_calls("<tool_call>[" + ",".join([JSON] * MAX_CALLS) + "]") == MAX_CALLS
    assert num_calls("<tool_call>[" + ",".join([JSON] * (MAX_CALLS + 1)) + "]") == MAX_CALLS
    refused = '<tool_call>{"id":"' + "x" * 1000 + '"}'
    assert num_calls(refused * (MAX_REREAD // 1100) + call("1")) == 1
    assert num_calls(refused * (MAX_REREAD // 900) + call("1")) == 0


def test_a_too_long_start_of_a_call_becomes_text() -> None:
    splitter = CallSplitter("hermes")
    pieces = [piece for _ in range(4) for piece in splitter.feed('<tool_call>{"id": "' + "x" * MAX_HEAD)]
    assert len(shown(pieces)) > 2 * MAX_HEAD


def test_text_and_arguments_are_streamed_at_once() -> None:
    splitter = CallSplitter("hermes")
    assert splitter.feed("Let me") == ["Let me"]
    assert splitter.feed(" look. <tool") == [" look."]
    assert splitter.feed("box") == [" <toolbox"]
    assert splitter.feed(' <tool_call>{"name": "weather", "arguments":') == []
    assert splitter.feed(" {") == [CallBegun("weather"), ArgumentsText("{")]
    assert splitter.feed('"city": "Pa') == [ArgumentsText('"city":"Pa')]
    assert splitter.feed('ris"}') == [ArgumentsText('ris"}'), WEATHER]
    assert splitter.feed("}</tool_call> bye <") == [" bye"]
    assert splitter.finish() == [" <"]


def test_text_that_resembles_a_bare_call_is_streamed_as_soon_as_possible() -> None:
    splitter = CallSplitter("llama3")
    assert splitter.feed('{"') == []
    assert splitter.feed("na") == []
    assert splitter.feed('tion"') == ['{"nation"']
    splitter = CallSplitter("llama3", TOOLS)
    assert splitter.feed('{"name": "Ann') == []
    assert splitter.feed('a", ') == ['{"name": "Anna",']


FRAGMENTS = [
    "<tool_call>",
    "</tool_call>",
    "<|python_tag|>",
    "[TOOL_CALLS]",
    "[ARGS]",
    "[CALL_ID]",
    "<|tool_call_start|>",
    "<|tool_call_end|>",
    "<function=f>",
    "<parameter=a>",
    "</parameter>",
    "</function>",
    '<function name="f">',
    '<param name="a">',
    "<![CDATA[",
    "]]>",
    "</param>",
    "<arg_key>",
    "</arg_key>",
    "<arg_value>",
    "</arg_value>",
    "<｜tool▁calls▁begin｜>",
    "<｜tool▁call▁begin｜>",
    "<｜tool▁sep｜>",
    "<｜tool▁call▁end｜>",
    "<|channel|>commentary",
    " to=functions.f",
    "<|message|>",
    '<|tool_call>call:f{a:<|"|>',
    '<|"|>',
    ">>>",
    "all\n",
    "```json",
    "```tool_code",
    "```",
    JSON,
    f"[{JSON}]",
    "[f(a=1)]",
    "f(b='x')",
    "f",
    "name",
    "{",
    "}",
    "[",
    '"',
    "\\",
    "\\u00",
    ";",
    ", ",
    " ",
    "\n",
    "word",
    *NO_CALLS,
]


@given(st.sampled_from(list(MARKUPS)), st.lists(st.sampled_from(FRAGMENTS), max_size=10), st.data())
def test_the_split_of_a_stream_changes_nothing(markup: str, fragments: list[str], data: st.DataObject) -> None:
    text = "".join(fragments)
    cuts = data.draw(st.lists(st.integers(0, len(text)), max_size=12))
    places = [0, *sorted(cuts), len(text)]
    chunks = [text[start:end] for start, end in itertools.pairwise(places)]
    whole = parse_calls(markup, text)
    assert joined(split(markup, chunks)) == whole
    assert joined(split(markup, list(text))) == whole


@given(st.sampled_from(list(MARKUPS)), st.lists(st.sampled_from(FRAGMENTS), max_size=10), st.data())
def test_output_for_a_longer_text_extends_earlier_output(
    markup: str, fragments: list[str], data: st.DataObject
) -> None:
    """Streamed output is never withdrawn: not a word, not a call, not a character of its arguments."""
    text = "".join(fragments)
    cut = data.draw(st.integers(0, len(text)))
    splitter = CallSplitter(markup)
    before, whole = splitter.feed(text[:cut]), split(markup, [text])
    assert shown(whole).startswith(shown(before))
    names = [piece.name for piece in before if isinstance(piece, CallBegun)]
    assert [piece.name for piece in whole if isinstance(piece, CallBegun)][: len(names)] == names
    for some, all_of_it in zip(arguments(before), arguments(whole), strict=False):
        assert all_of_it.startswith(some)


def shown(pieces: list[Piece]) -> str:
    return "".join(piece for piece in pieces if isinstance(piece, str))


def arguments(pieces: list[Piece]) -> list[str]:
    texts: list[str] = []
    for piece in pieces:
        if isinstance(piece, CallBegun):
            texts.append("")
        elif isinstance(piece, ArgumentsText):
            texts[-1] += piece.text
    return texts

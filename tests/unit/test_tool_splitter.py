"""Tool calls in text: every family's form, what is no call, and any cut of a stream."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cactus_actors.protocol.results import ToolCall
from cactus_actors.tools.bodies import MAX_CALLS, MAX_CHARACTERS, MAX_DEPTH
from cactus_actors.tools.markup import MARKUPS, render_calls
from cactus_actors.tools.splitter import MAX_REFUSED, Piece, Splitter, parse_calls

WEATHER = ToolCall("weather", {"city": "Paris"})
TIME = ToolCall("time", {})
JSON = '{"name": "weather", "arguments": {"city": "Paris"}}'
BROKEN = [
    '{"name": 1, "arguments": {}}',
    '{"name": "", "arguments": {}}',
    '{"name": "f", "arguments": [1]}',
    '{"name": "f", "arguments": "no object"}',
    '{"name": "f"}',
    '{"name": "f", "arguments": {"a": 18446744073709551616}}',
    '{"name": "f", "arguments": {',
    '[{"name": "f", "arguments": {}}, 3]',
    "{broken",
]


def split(markup: str, chunks: list[str]) -> list[Piece]:
    splitter = Splitter(markup)
    return [piece for chunk in chunks for piece in splitter.feed(chunk)] + splitter.finish()


def joined(pieces: list[Piece]) -> tuple[str, list[ToolCall]]:
    text = "".join(piece for piece in pieces if isinstance(piece, str))
    return text, [piece for piece in pieces if isinstance(piece, ToolCall)]


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("hermes", f"<tool_call>\n{JSON}\n</tool_call>"),
        ("hermes", f"<tool_call>{JSON}"),
        ("hermes", '<tool_call>{"arguments": "{\\"city\\": \\"Paris\\"}", "name": "weather"}</tool_call>'),
        ("hermes", JSON),
        ("llama3", '<|python_tag|>{"name": "weather", "parameters": {"city": "Paris"}}'),
        ("llama3", '{"type": "function", "function": {"name": "weather", "parameters": {"city": "Paris"}}}'),
        ("mistral", f"[TOOL_CALLS] [{JSON}]"),
        ("mistral", '[TOOL_CALLS]weather[ARGS]{"city": "Paris"}'),
        ("mistral", '[TOOL_CALLS]weather[CALL_ID]a1b2c3d4e[ARGS]{"city": "Paris"}'),
        ("lfm2", '<|tool_call_start|>[weather(city="Paris")]<|tool_call_end|>'),
        ("lfm2", f"<|tool_call_start|>[{JSON}]<|tool_call_end|>"),
        ("lfm2", "[weather(city='Paris')]"),
        ("gemma", '```tool_code\nprint(default_api.weather(city="Paris"))\n```'),
        ("gemma", "```tool_code\n[weather(city='Paris')]\n```"),
        ("gemma", f"```json\n{JSON}\n```"),
        ("json", f"```json\n[{JSON}]\n```"),
        ("json", JSON),
        ("a markup of tomorrow", JSON),
    ],
)
def test_one_call_in_every_form(markup: str, text: str) -> None:
    assert parse_calls(markup, text) == ("", [WEATHER])
    assert parse_calls(markup, f"\n {text}\n") == ("", [WEATHER])


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        (
            "hermes",
            f'<tool_call>{JSON}</tool_call>\n<tool_call>{{"name":"time","arguments":{{}}}}</tool_call>',
        ),
        ("hermes", f'<tool_call>{JSON}\n{{"name":"time","arguments":{{}}}}</tool_call>'),
        ("llama3", f'{JSON}; {{"name":"time","parameters":{{}}}}'),
        ("mistral", '[TOOL_CALLS]weather[ARGS]{"city": "Paris"}[TOOL_CALLS]time[ARGS]{}'),
        ("lfm2", "<|tool_call_start|>[weather(city='Paris'), time()]<|tool_call_end|>"),
        ("gemma", "```tool_code\nweather(city='Paris')\ntime()\n```"),
    ],
)
def test_several_calls(markup: str, text: str) -> None:
    assert parse_calls(markup, text) == ("", [WEATHER, TIME])


def test_text_around_calls_is_kept_and_the_space_between_dropped() -> None:
    call = f"<tool_call>{JSON}</tool_call>"
    assert parse_calls("hermes", f"Let me look.\n\n{call}\n") == ("Let me look.", [WEATHER])
    assert parse_calls("hermes", f"{call}\nThat was it.") == ("That was it.", [WEATHER])
    assert parse_calls("hermes", f" a\n{call}\nb{call} c ") == (" a\nb c", [WEATHER, WEATHER])


@pytest.mark.parametrize("markup", MARKUPS)
def test_text_without_calls_is_text_to_the_letter(markup: str) -> None:
    texts = [
        " ",
        "",
        "\n hello \n",
        '{"answer": 42}\n',
        "[1] says so. ",
        "{",
        '{"name',
        "a < b [TOOL",
        "```py\nx\n```",
    ]
    for text in texts:
        assert parse_calls(markup, text) == (text, [])


@pytest.mark.parametrize("markup", MARKUPS)
@pytest.mark.parametrize("body", BROKEN)
def test_a_malformed_call_is_text(markup: str, body: str) -> None:
    block = MARKUPS[markup].blocks[0]
    for text in (f"I say {block.open}{body}{block.close} so.", body):
        assert parse_calls(markup, text) == (text, [])


@pytest.mark.parametrize(
    "body",
    [
        "[f(1)]",
        "[f(**x)]",
        "[f(a=1, a=2)]",
        "[f(a=g())]",
        "[f(a=1e999)]",
        "[f(a=-1e999)]",
        "[f(a='\\ud800')]",
        "[f(a={1: 2})]",
        "[f(a=1)",
        "[f(a=x)]",
        "[f()()]",
        "[f(a=" + "-" * 50_000 + "1)]",
        "[f(a=\0)]",
    ],
)
def test_python_that_is_no_plain_call_is_text(body: str) -> None:
    text = f"<|tool_call_start|>{body}<|tool_call_end|>"
    assert parse_calls("lfm2", text) == (text, [])


def test_python_arguments_are_json_values() -> None:
    text = "[spotify.play(a=[1, -2.5, (None, true)], b={'c': \"d'e\", \"f\": False}, g='\\d]')]"
    arguments = {"a": [1, -2.5, [None, True]], "b": {"c": "d'e", "f": False}, "g": "\\d]"}
    assert parse_calls("lfm2", text) == ("", [ToolCall("spotify.play", arguments)])


def test_a_malformed_call_does_not_hide_the_next() -> None:
    text = f"<tool_call> is a mark. <tool_call>{{broken</tool_call> <tool_call>{JSON}</tool_call>"
    assert parse_calls("hermes", text) == (text[: text.rindex(" <tool_call>")], [WEATHER])


def test_marks_inside_of_arguments_are_no_marks() -> None:
    call = ToolCall("say", {"text": "</tool_call> ``` [TOOL_CALLS] <tool_call> } ] ' \\\""})
    for markup in MARKUPS:
        assert parse_calls(markup, render_calls(markup, [call])) == ("", [call])


def test_calls_have_bounds() -> None:
    def call(argument: str) -> str:
        return f'<tool_call>{{"name":"f","arguments":{{"a":{argument}}}}}</tool_call>'

    def num_calls(text: str) -> int:
        return len(parse_calls("hermes", text)[1])

    assert num_calls(call("[" * (MAX_DEPTH - 2) + "]" * (MAX_DEPTH - 2))) == 1
    assert num_calls(call("[" * (MAX_DEPTH - 1) + "]" * (MAX_DEPTH - 1))) == 0
    assert num_calls(call('"' + "x" * (MAX_CHARACTERS - 100) + '"')) == 1
    assert num_calls(call('"' + "x" * MAX_CHARACTERS + '"')) == 0
    assert num_calls("<tool_call>[" + ",".join([JSON] * MAX_CALLS) + "]") == MAX_CALLS
    assert num_calls("<tool_call>[" + ",".join([JSON] * (MAX_CALLS + 1)) + "]") == 0
    assert num_calls('<tool_call>{"a"}' * (MAX_REFUSED - 1) + call("1")) == 1
    assert num_calls('<tool_call>{"a"}' * MAX_REFUSED + call("1")) == 0


def test_a_stream_shows_text_at_once_and_calls_when_they_are_whole() -> None:
    splitter = Splitter("hermes")
    assert splitter.feed("Let me") == ["Let me"]
    assert splitter.feed(" look. <tool") == [" look."]
    assert splitter.feed("box") == [" <toolbox"]
    assert splitter.feed(f" <tool_call>{JSON[:-1]}") == []
    assert splitter.feed("}") == [WEATHER]
    assert splitter.feed("</tool_call> bye <") == ["\x20bye"]
    assert splitter.finish() == [" <"]


def test_a_stream_that_begins_like_a_bare_call_is_shown_as_soon_as_it_is_none() -> None:
    splitter = Splitter("llama3")
    assert splitter.feed('{"') == []
    assert splitter.feed("na") == []
    assert splitter.feed('tion"') == ['{"nation"']


FRAGMENTS = [
    "<tool_call>",
    "</tool_call>",
    "<|python_tag|>",
    "[TOOL_CALLS]",
    "[ARGS]",
    "[CALL_ID]",
    "<|tool_call_start|>",
    "<|tool_call_end|>",
    "```json",
    "```tool_code",
    "```",
    JSON,
    f"[{JSON}]",
    "[f(a=1)]",
    "f(b='x')",
    "name",
    "{",
    "}",
    "[",
    '"',
    "\\",
    ";",
    ", ",
    " ",
    "\n",
    "word",
    *BROKEN,
]


@given(st.sampled_from(list(MARKUPS)), st.lists(st.sampled_from(FRAGMENTS), max_size=10), st.data())
def test_where_a_stream_is_cut_changes_nothing(
    markup: str, fragments: list[str], data: st.DataObject
) -> None:
    text = "".join(fragments)
    cuts = data.draw(st.lists(st.integers(0, len(text)), max_size=12))
    places = [0, *sorted(cuts), len(text)]
    chunks = [text[start:end] for start, end in itertools.pairwise(places)]
    whole = parse_calls(markup, text)
    assert joined(split(markup, chunks)) == whole
    assert joined(split(markup, list(text))) == whole


VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
CALLS = st.builds(
    ToolCall, st.text(min_size=1, max_size=12), st.dictionaries(st.text(max_size=4), VALUES, max_size=3)
)


@given(st.sampled_from(list(MARKUPS)), st.lists(CALLS, min_size=1, max_size=3))
def test_what_is_rendered_is_read_back(markup: str, calls: list[ToolCall]) -> None:
    assert parse_calls(markup, "So: " + render_calls(markup, calls)) == ("So:", calls)

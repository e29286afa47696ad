"""Answers that try to break the parsing of calls: damaged marks, depth, length, odd characters, every split."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cactus_actors.protocol.results import IncompleteCall, ToolCall
from cactus_actors.tools.call_rendering import render_calls
from cactus_actors.tools.call_splitter import CallSplitter, ParsedText, parse_calls
from cactus_actors.tools.markup_table import MARKUPS

TOOLS: list[dict[str, Any]] = [
    {"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "string"}, "b": {}}}},
    {"name": "g"},
]
BOTH = [ToolCall("f", {"a": 'é "x"\n<b>', "b": [1, {"c": None}]}), ToolCall("g", {})]
ODD = [
    "\x00",
    "\x1b[0m",
    "\u2028",
    "\ufeff",
    "\u202e",
    "\U0001f600",
    "e\u0301",
    "\\ud800",
    "\\u0000",
    "\x7f",
    "\r",
]


def told(markup: str, chunks: Iterable[str]) -> ParsedText:
    splitter = CallSplitter(markup, TOOLS)
    pieces = [piece for chunk in chunks for piece in splitter.feed(chunk)] + splitter.finish()
    return ParsedText(
        "".join(piece for piece in pieces if isinstance(piece, str)),
        [piece for piece in pieces if isinstance(piece, ToolCall)],
        [piece for piece in pieces if isinstance(piece, IncompleteCall)],
    )


@pytest.mark.parametrize("markup", MARKUPS)
def test_a_stream_can_be_split_anywhere(markup: str) -> None:
    text = f"Well: {render_calls(markup, BOTH, TOOLS)} <"
    whole = parse_calls(markup, text, TOOLS)
    assert whole.calls == BOTH
    for place in range(len(text)):
        assert told(markup, [text[:place], text[place:]]) == whole, place


MUTATIONS = st.tuples(
    st.sampled_from(["drop", "double", "insert", "end"]),
    st.floats(0, 1),
    st.integers(1, 12),
    st.sampled_from([*ODD, "{", "}", '"', "<", "[", "\\", "```", "</"]),
)


def mutated(text: str, kind: str, at: float, length: int, odd: str) -> str:
    place = int(at * len(text))
    match kind:
        case "drop":
            return text[:place] + text[place + length :]
        case "double":
            return text[: place + length] + text[place:]
        case "insert":
            return text[:place] + odd + text[place:]
    return text[:place]


@given(st.sampled_from(list(MARKUPS)), st.lists(MUTATIONS, max_size=4), st.integers(1, 7))
def test_damaged_calls_are_read_the_same_in_any_chunks(
    markup: str, mutations: list[tuple[str, float, int, str]], length: int
) -> None:
    text = f"So: {render_calls(markup, BOTH, TOOLS)} Done."
    for mutation in mutations:
        text = mutated(text, *mutation)
    whole = parse_calls(markup, text, TOOLS)
    assert {call.name for call in whole.calls} | {call.name for call in whole.incomplete_calls} <= {"f", "g"}
    assert told(markup, [text[i : i + length] for i in range(0, len(text), length)]) == whole


@pytest.mark.parametrize("markup", MARKUPS)
def test_unusual_characters_in_arguments_are_kept(markup: str) -> None:
    for odd in ODD:
        calls = [ToolCall("f", {"a": f"x{odd}y"})]
        assert parse_calls(markup, render_calls(markup, calls, TOOLS), TOOLS) == ParsedText("", calls)


@pytest.mark.parametrize("markup", MARKUPS)
@pytest.mark.parametrize("bracket", ["[", '{"a":', "[[{'b':"])
def test_too_deep_arguments_end_only_their_call(markup: str, bracket: str) -> None:
    call = render_calls(markup, [ToolCall("f", {"b": "@"})], TOOLS)
    deep = call.replace('"@"', "@").replace("@", bracket * 3000, 1)
    parsed = parse_calls(markup, f"So: {deep}", TOOLS)
    assert parsed.text.startswith("So:")
    assert all(len(json.dumps(one.arguments)) > 9 for one in parsed.calls)  # as a text, where nothing is quoted


HALF_OPEN = {
    "a long text": lambda row, n: render_calls(row, [ToolCall("f", {"a": "x" * n})], TOOLS),
    "many values": lambda row, n: render_calls(row, [ToolCall("f", {"b": [1] * (n // 3)})], TOOLS),
    "half marks": lambda row, n: (MARKUPS[row].forms[0].mark[:-1] or "[") * (n // 8),
    "calls that break": lambda row, n: render_calls(row, BOTH, TOOLS)[:-9] * (n // 60),
    "a name without an end": lambda row, n: f'{MARKUPS[row].forms[0].mark}{{"name": "' + "q" * n,
}


@pytest.mark.parametrize("markup", ["hermes", "qwen3_coder", "lfm2"])
@pytest.mark.parametrize("kind", HALF_OPEN)
def test_parsing_time_is_linear_in_the_length(markup: str, kind: str) -> None:
    def cost(length: int) -> float:
        text = HALF_OPEN[kind](markup, length)
        start = time.thread_time()
        told(markup, text)  # letter by letter
        return time.thread_time() - start

    few, many = min(cost(1_000), cost(1_000)), min(cost(8_000), cost(8_000))
    assert many < 30 * few + 0.02, "8 times the length; its square would be 64 times"

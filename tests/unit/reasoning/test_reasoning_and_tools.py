"""Reasoning is removed first, and calls are parsed in the rest: for every pair of two markups."""

from __future__ import annotations

from typing import Any

import pytest

from cactus_actors.protocol.results import ToolCall
from cactus_actors.reasoning import MARKUPS, Split, split, splitter_of
from cactus_actors.tools.call_rendering import render_calls
from cactus_actors.tools.call_splitter import CallSplitter, parse_calls
from cactus_actors.tools.markup_table import MARKUPS as TOOL_MARKUPS
from cactus_actors.tools.pieces import Piece

WEATHER, TIME = ToolCall("weather", {"city": "Paris"}), ToolCall("time", {"zone": "UTC"})
TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": call.name,
            "parameters": {
                "type": "object",
                "properties": {name: {"type": "string"} for name in call.arguments},
            },
        },
    }
    for call in (WEATHER, TIME)
]
TAGGED = [name for name, markup in MARKUPS.items() if not markup.has_channels]
HARMONY = "<|channel|>analysis<|message|>{}<|end|><|start|>assistant"


def streamed(reasoning: str, tools: str, text: str) -> tuple[str, list[Piece]]:
    """The parts of a text that is fed letter by letter."""
    first, second = splitter_of(reasoning), CallSplitter(tools, TOOLS)
    said: list[Split] = [*(first.feed(letter) for letter in text), first.finish()]
    pieces = [piece for one in said for piece in second.feed(one.text)] + second.finish()
    return "".join(one.reasoning for one in said), pieces


def check(reasoning: str, tools: str, text: str, thought: str) -> None:
    told = split(reasoning, text)
    assert told.reasoning == thought
    parsed = parse_calls(tools, told.text, TOOLS)
    assert (parsed.text, parsed.calls) == ("", [WEATHER, TIME])
    said, pieces = streamed(reasoning, tools, text)
    assert said == thought
    assert [piece for piece in pieces if isinstance(piece, ToolCall)] == [WEATHER, TIME]
    assert "".join(piece for piece in pieces if isinstance(piece, str)) == ""


@pytest.mark.parametrize("tools", sorted(TOOL_MARKUPS.keys() - {"harmony"}))
def test_calls_are_parsed_after_the_reasoning_only(tools: str) -> None:
    calls = render_calls(tools, [WEATHER, TIME], TOOLS)
    for reasoning in TAGGED:
        markup = MARKUPS[reasoning]
        for thought in ("Both, then.", f"Shall I? {render_calls(tools, [TIME], TOOLS)} No: both."):
            check(reasoning, tools, f"{markup.opens[0]}\n{thought}\n{markup.closes[0]}\n\n{calls}", thought)


def test_calls_in_channels_are_parsed() -> None:
    calls = render_calls("harmony", [WEATHER, TIME], TOOLS)
    check("harmony", "harmony", HARMONY.format("Both, then.") + calls, "Both, then.")
    again = calls.replace("<|start|>assistant", f"<|start|>assistant{HARMONY.format('And the time.')}", 1)
    check("harmony", "harmony", HARMONY.format("So:") + again + "<|call|>", "So:\n\nAnd the time.")


def test_text_before_calls_in_channels_is_content() -> None:
    call = render_calls("harmony", [WEATHER], TOOLS)
    preamble = "<|channel|>commentary<|message|>Let me look.<|end|><|start|>assistant"
    told = split("harmony", HARMONY.format("so") + preamble + call)
    parsed = parse_calls("harmony", told.text, TOOLS)
    assert (told.reasoning, parsed.text, parsed.calls) == ("so", "Let me look.", [WEATHER])

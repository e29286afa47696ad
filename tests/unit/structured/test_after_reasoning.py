"""Grammars that begin after the reasoning, in every markup, with marks of text and of control tokens."""

from __future__ import annotations

from pathlib import Path

import pytest

from cactus_actors.protocol.options import Options
from cactus_actors.protocol.results import ToolCall
from cactus_actors.reasoning import MARKUPS, ReasoningMarkup, Start, split
from cactus_actors.structured import after_reasoning, compile_request
from cactus_actors.structured.compiled import param_of
from cactus_actors.tools.call_rendering import render_calls
from tests.support.text.grammar_masks import END, refused_at, tokenizer_of

SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "integer"}},
    "required": ["a"],
    "additionalProperties": False,
}
TAGGED = [name for name, markup in MARKUPS.items() if not markup.has_channels]


def enclosed(markup: ReasoningMarkup, answer: str, *, are_tokens: bool) -> str:
    """An answer inside the control tokens of the family."""
    opening, closing = markup.answers[0] if markup.answers and are_tokens else ("", "")
    return f"{opening}{answer}{closing}" if opening else answer


@pytest.mark.parametrize("name", TAGGED)
@pytest.mark.parametrize("are_tokens", [False, True])
@pytest.mark.parametrize("start", ["undecided", "reasoning"])
def test_a_grammar_constrains_only_the_text_after_the_reasoning(
    tmp_path: Path, name: str, are_tokens: bool, start: Start
) -> None:
    markup = MARKUPS[name]
    tokenizer = tokenizer_of(tmp_path, *(markup.tokens if are_tokens else ()))
    plain = compile_request(Options(json_schema=SCHEMA), tokenizer)
    grammar = after_reasoning(plain, name, tokenizer, start=start)
    assert param_of(grammar) == "json_schema"
    opening = "" if start == "reasoning" else markup.opens[0]
    thought = f"{opening}\nso {{ < </ é\n\n{markup.closes[0]}"
    good = thought + enclosed(markup, '{"a": 12}', are_tokens=are_tokens)
    assert refused_at(tokenizer, grammar, good) is None
    assert split(name, good, start=start).text == '{"a": 12}'
    assert refused_at(tokenizer, grammar, f'{thought}{{"a": x') == "x"
    assert refused_at(tokenizer, grammar, f"{thought}Well") == "W"
    assert refused_at(tokenizer, grammar, thought) == END, "reasoning alone is no answer"
    at_once = refused_at(tokenizer, grammar, '{"a": 12}')
    assert at_once == (None if start == "undecided" else END)


@pytest.mark.parametrize("mark", MARKUPS["granite-3.2"].closes)
def test_any_spelling_of_a_mark_ends_the_reasoning(tmp_path: Path, mark: str) -> None:
    tokenizer = tokenizer_of(tmp_path)
    plain = compile_request(Options(regex="[0-9]+"), tokenizer)
    grammar = after_reasoning(plain, "granite-3.2", tokenizer, start="undecided")
    assert refused_at(tokenizer, grammar, f"Here's my thought process: Here is {mark}42") is None


def test_messages_in_channels_have_headings(tmp_path: Path) -> None:
    tokenizer = tokenizer_of(tmp_path, *MARKUPS["harmony"].tokens)
    plain = compile_request(Options(regex="[0-9]+"), tokenizer)
    grammar = after_reasoning(plain, "harmony", tokenizer, start="undecided")
    final = "<|channel|>final<|message|>42"
    thought = "<|channel|>analysis<|message|>so<|end|><|start|>assistant"
    for text in (final, thought + final, thought + thought + final):
        assert refused_at(tokenizer, grammar, text) is None
        assert split("harmony", text).text == "42"
    assert refused_at(tokenizer, grammar, "42") == "4"
    assert refused_at(tokenizer, grammar, f"{thought}42") == "4"
    call = after_reasoning(plain, "harmony", tokenizer, start="undecided", is_call=True)
    assert refused_at(tokenizer, call, f"{thought}42") is None


def test_a_forced_call_in_channels_has_its_own_heading(tmp_path: Path) -> None:
    tools = [{"type": "function", "function": {"name": "time", "parameters": {}}}]
    tokenizer = tokenizer_of(tmp_path, *MARKUPS["harmony"].tokens)
    plain = compile_request(Options(), tokenizer, tools=tools, markup="harmony", force_tools=True)
    grammar = after_reasoning(plain, "harmony", tokenizer, start="undecided", is_call=True)
    call = render_calls("harmony", [ToolCall("time", {})], tools)
    thought = "<|channel|>analysis<|message|>so<|end|><|start|>assistant"
    for text in (call, thought + call):
        assert refused_at(tokenizer, grammar, text) is None
    assert refused_at(tokenizer, grammar, f"{thought}<|channel|>final<|message|>") is not None


def test_a_grammar_of_several_parts_is_kept(tmp_path: Path) -> None:
    tools = [{"type": "function", "function": {"name": "time", "parameters": {}}}]
    tokenizer = tokenizer_of(tmp_path, "<tool_call>", "</tool_call>")
    plain = compile_request(Options(), tokenizer, tools=tools, markup="hermes", force_tools=True)
    grammar = after_reasoning(plain, "think", tokenizer, start="reasoning", is_call=True)
    call = '<tool_call>\n{"name": "time", "arguments": {}}\n</tool_call>'
    assert refused_at(tokenizer, grammar, f"the time</think>{call}") is None
    assert refused_at(tokenizer, grammar, f"{call}</think>") == "<tool_call>", "no call comes in reasoning"

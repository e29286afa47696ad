"""Strict tools: free text in which the calls that the model makes obey their schemas."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from cactus_actors.protocol.errors import NotSupported
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.results import ToolCall
from cactus_actors.reasoning import MARKUPS as REASONING
from cactus_actors.reasoning import Start
from cactus_actors.structured import after_reasoning, compile_request, try_grammar
from cactus_actors.tools.call_rendering import render_calls
from cactus_actors.tools.call_splitter import parse_calls
from cactus_actors.tools.markup_table import MARKUPS
from tests.support.text.grammar_masks import refused_at, tokenizer_of
from tests.support.text.grammar_texts import NoControlTokens, accepted, random_text
from tests.support.text.tool_definitions import TOOLS, WEATHER, as_forced, calls

SCHEMAS = {tool["name"]: Draft202012Validator(tool.get("parameters", {})) for tool in TOOLS}
ROME, NOW = ("weather", {"city": "Rome", "days": 2}), ("time", {})
BONN, SOON = ("weather", {"city": "Bonn"}), ("weather", {"city": "Rome", "days": "soon"})
FREE = [
    "Some text, é: {} [1] (a) <b> >>> x = f(1).",
    '{"name": "Paris", "country": "France"}',
    "As JSON:\n```json\n{}\n```\n",
    "[weather] was asked for, and time(s) too.",
    "",
]

SPELLINGS = [
    '{"name" : "weather", "arguments": {"city": "Bonn"}}',
    ' {\n"arguments": {"city": "Bonn"}, "name": "weather"}',
    '{"n\\u0061me": "weather", "arguments": {"city": "Bonn"}}',
    '{"name": "we\\u0061ther", "arguments": {"city": "Bonn"}}',
    '[{"name": "weather", "parameters": {"city": "Bonn"}}]',
    '{"type": "function", "function": {"name": "weather", "arguments": "{\\"city\\": \\"Bonn\\"}"}}',
    '[print(default_api.weather(city="Bonn"))]',
    '[weather.call(city="Bonn")]',
]


def strict_grammar(markup: str, tools: list[dict[str, Any]] = TOOLS, *, parallel: bool = True) -> str:
    return compile_request(
        Options(),
        NoControlTokens(),
        tools=tools,
        markup=markup,
        strict_tools=True,
        parallel_tool_calls=parallel,
        reasoning="think",
    )


@pytest.mark.parametrize("markup", MARKUPS)
@pytest.mark.parametrize("parallel", [True, False])
def test_text_is_unconstrained_and_calls_match_their_schemas(markup: str, parallel: bool) -> None:
    def written(*pairs: tuple[str, dict[str, Any]]) -> str:
        return render_calls(markup, calls(*pairs), TOOLS)

    first = as_forced(markup, written(ROME))
    right = [*FREE, first, f"Well: {written(NOW)}", f"{first}\nDone."]
    several = [as_forced(markup, written(ROME, NOW)), f"{first}\n{written(NOW)}"]
    wrong = [as_forced(markup, written(BONN)), f"Well: {written(SOON)}", f"{first}\n{written(BONN)}"]
    assert all(parse_calls(markup, text, TOOLS).calls for text in wrong)
    found = accepted(strict_grammar(markup, parallel=parallel), [*right, *several, *wrong, "<think>so"])
    assert found == right + [text for text in several if parallel]


@pytest.mark.parametrize("markup", MARKUPS)
def test_calls_in_other_spellings_are_prevented(markup: str) -> None:
    forms = {form for row in MARKUPS.values() for form in (*row.forms, *row.bare)}
    bodies = {form.body.write(ToolCall(*BONN), WEATHER["parameters"]) for form in forms}
    marks = {f"{''.join(form.open)}{form.begin}" for form in MARKUPS[markup].forms}
    valid = as_forced(markup, render_calls(markup, calls(ROME), [WEATHER]))
    heads = ["", *marks, *(f"So: {mark}" for mark in marks), valid, f"{valid}, ", f"{valid}\n"]
    texts = [head + body for head in heads for body in (*SPELLINGS, *bodies)]
    for text in accepted(strict_grammar(markup, [WEATHER]), texts):
        parsed = parse_calls(markup, text, [WEATHER])
        assert not parsed.incomplete_calls, text
        assert all(call.arguments == ROME[1] for call in parsed.calls), text


@pytest.mark.parametrize("markup", MARKUPS)
def test_generated_texts_contain_no_other_calls(markup: str) -> None:
    rng = random.Random(markup)
    valid = as_forced(markup, render_calls(markup, calls(ROME), TOOLS))
    marks = [f"{''.join(form.open)}{form.begin}{getattr(form.body, 'before', '')}" for form in MARKUPS[markup].forms]
    num_calls = 0
    for parallel in (True, False):
        grammar = strict_grammar(markup, parallel=parallel)
        for begins in ("", "So: ", '{"name": "', *marks, *(f"So: {mark}" for mark in marks), valid):
            text = random_text(grammar, rng, max_bytes=len(begins) + 160, begins=begins)
            if text is None:
                continue
            parsed = parse_calls(markup, text, TOOLS)
            num_calls += len(parsed.calls)
            assert not parsed.incomplete_calls, text
            for call in parsed.calls:
                SCHEMAS[call.name].validate(call.arguments)
    assert num_calls >= 2


def test_an_unenforceable_strict_schema_is_named() -> None:
    looking_back = {
        "name": "odd",
        "parameters": {"type": "object", "properties": {"a": {"type": "string", "pattern": "(?<=x)y"}}},
    }
    grammar = strict_grammar("hermes", [{**WEATHER, "strict": True}, looking_back])
    text = render_calls("hermes", calls(("odd", {"a": "z"})), [looking_back])
    assert accepted(grammar, [text]) == [text]
    with pytest.raises(NotSupported) as caught:
        strict_grammar("hermes", [WEATHER, {**looking_back, "strict": True}])
    assert caught.value.param == "tools"


@pytest.mark.parametrize("start", ["undecided", "reasoning"])
@pytest.mark.parametrize("are_tokens", [True, False])
def test_reasoning_is_unconstrained_and_later_calls_match_their_schemas(
    tmp_path: Path, start: Start, are_tokens: bool
) -> None:
    marks = ("<think>", "</think>", "<tool_call>", "</tool_call>")
    tokenizer = tokenizer_of(tmp_path, *(marks if are_tokens else ()))
    plain = compile_request(Options(), tokenizer, tools=TOOLS, markup="hermes", strict_tools=True, reasoning="think")
    grammar = after_reasoning(plain, "think", tokenizer, start=start, is_call=True)
    try_grammar(grammar, tokenizer)
    right, wrong = (render_calls("hermes", calls(one), TOOLS) for one in (ROME, BONN))
    thought = ("" if start == "reasoning" else "\n<think>") + f"Say {'so' if are_tokens else wrong} {{\n</think>\n\n"
    for answer in (right, f"Yes: {right}", "No.", f"{right}\n{right}"):
        assert refused_at(tokenizer, grammar, thought + answer) is None, answer
    for answer in (wrong, f"Yes: {wrong}", f"{right}\n{wrong}"):
        assert refused_at(tokenizer, grammar, thought + answer) == "B", answer
    if start == "undecided":
        assert refused_at(tokenizer, grammar, f"Yes: {right}") is None
        assert refused_at(tokenizer, grammar, f"Yes: {wrong}") == "B"


def test_channel_messages_are_unconstrained_and_calls_in_them_match_their_schemas(tmp_path: Path) -> None:
    tokenizer = tokenizer_of(tmp_path, *REASONING["harmony"].tokens)
    plain = compile_request(Options(), tokenizer, tools=TOOLS, markup="harmony", strict_tools=True, reasoning="harmony")
    grammar = after_reasoning(plain, "harmony", tokenizer, start="undecided", is_call=True)
    try_grammar(grammar, tokenizer)
    right, wrong = (render_calls("harmony", calls(one), TOOLS) for one in (ROME, BONN))
    thought = "<|channel|>analysis<|message|>Say to=functions.x<|end|><|start|>assistant"
    preamble = "<|channel|>commentary<|message|>Let me look.<|end|><|start|>assistant"
    final = "<|channel|>final<|message|>It rains."
    for text in (
        final,
        right,
        preamble + right,
        preamble + thought + right,
        f"{right}<|end|><|start|>assistant{right}",
    ):
        assert refused_at(tokenizer, grammar, thought + text) is None, text
    for text in (wrong, preamble + wrong, f"{right}<|end|><|start|>assistant{wrong}"):
        assert refused_at(tokenizer, grammar, thought + text) == "B", text


def test_markup_tokens_without_a_call_do_not_end_the_text(tmp_path: Path) -> None:
    tokenizer = tokenizer_of(tmp_path, "<|START_ACTION|>", "<|END_ACTION|>", "<|START_RESPONSE|>")
    grammar = compile_request(Options(), tokenizer, tools=TOOLS, markup="command_r7b", strict_tools=True)
    right, wrong = (render_calls("command_r7b", calls(one), TOOLS) for one in (ROME, BONN))
    assert refused_at(tokenizer, grammar, "<|START_RESPONSE|>Rain.") is None
    assert refused_at(tokenizer, grammar, f"<|START_RESPONSE|>So.{right}") is None
    assert refused_at(tokenizer, grammar, f"<|START_RESPONSE|>So.{wrong}") == "B"

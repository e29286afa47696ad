"""Forced tool calls: the grammar of each markup allows exactly the calls that its parser accepts."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from cactus_actors.protocol.options import Options
from cactus_actors.structured import compile_request
from cactus_actors.tools.call_rendering import render_calls
from cactus_actors.tools.call_splitter import ParsedText, parse_calls
from cactus_actors.tools.markup_table import MARKUPS
from tests.support.text.grammar_texts import Names, NoControlTokens, accepted, random_text
from tests.support.text.tool_definitions import (
    TIME,
    TOOLS,
    WEATHER,
    as_forced,
    calls,
)


def grammar_of_calls(markup: str, tools: list[dict[str, Any]], *, parallel: bool = True) -> str:
    return compile_request(
        Options(),
        NoControlTokens(),
        tools=tools,
        markup=markup,
        force_tools=True,
        parallel_tool_calls=parallel,
    )


@pytest.mark.parametrize("markup", MARKUPS)
def test_forced_calls_match_the_tools_and_their_schemas(markup: str) -> None:
    def written(*pairs: tuple[str, dict[str, Any]]) -> str:
        return as_forced(markup, render_calls(markup, calls(*pairs), TOOLS))

    rome, now = ("weather", {"city": "Rome", "days": 2}), ("time", {})
    valid = [written(rome), written(now), written(now, rome)]
    invalid = [
        written(("weather", {})),
        written(("weather", {"city": "Bonn"})),
        written(("weather", {"city": "Rome", "days": "soon"})),
        written(("weather", {"city": "Rome", "hours": 2})),
        written(("storm", {})),
        written(("time", {"zone": 1})),
        "text",
        written(rome)[:-1],
    ]
    assert accepted(grammar_of_calls(markup, [WEATHER, TIME]), [*valid, *invalid]) == valid
    assert accepted(grammar_of_calls(markup, [WEATHER, TIME], parallel=False), valid) == valid[:2]


@pytest.mark.parametrize("markup", MARKUPS)
def test_an_answer_with_a_schema_is_json_or_calls_instead(markup: str) -> None:
    def written(*pairs: tuple[str, dict[str, Any]]) -> str:
        return as_forced(markup, render_calls(markup, calls(*pairs), TOOLS))

    schema = {"type": "object", "properties": {"town": {"enum": ["Rome"]}}, "required": ["town"]}
    schema["additionalProperties"] = False
    grammar = compile_request(
        Options(response_format={"type": "json_schema", "json_schema": {"name": "n", "schema": schema}}),
        NoControlTokens(),
        tools=[WEATHER, TIME],
        markup=markup,
    )
    rome, now = ("weather", {"city": "Rome", "days": 2}), ("time", {})
    valid = ['{"town": "Rome"}', '{"town":"Rome"}', written(rome), written(now), written(now, rome)]
    invalid = [
        *("text", '{"town": "Bonn"}', "{}", '{"town": "Rome"} and', written(("weather", {}))),
        *(written(("storm", {})), '{"town": "Rome"}' + written(now)),
    ]
    assert accepted(grammar, [*valid, *invalid]) == valid
    assert parse_calls(markup, valid[0], TOOLS) == ParsedText(valid[0])


@pytest.mark.parametrize("markup", MARKUPS)
def test_every_forced_text_is_parsed_as_calls(markup: str) -> None:
    rng = random.Random(markup)
    schemas = {tool["name"]: Draft202012Validator(tool.get("parameters", {})) for tool in TOOLS}
    num_texts = 0
    for parallel in (True, False):
        grammar = grammar_of_calls(markup, TOOLS, parallel=parallel)
        for _ in range(4):
            text = random_text(grammar, rng, max_bytes=240)
            if text is None:
                continue
            num_texts += 1
            parsed = parse_calls(markup, text, TOOLS)
            assert parsed == ParsedText("", parsed.calls), text
            assert parsed.calls, text
            assert parallel or len(parsed.calls) == 1, text
            for call in parsed.calls:
                assert list(schemas[call.name].iter_errors(call.arguments)) == [], text
    assert num_texts > 0


@pytest.mark.parametrize("markup", MARKUPS)
def test_grammar_roots_separate_calls_and_text(markup: str) -> None:
    """`fcall`, `nofcall` and `root` of Cerebras's names."""
    languages = {
        root: compile_request(Options(grammar_root=root), NoControlTokens(), tools=[WEATHER, TIME], markup=markup)
        for root in ("root", "fcall", "nofcall")
    }
    call = as_forced(markup, render_calls(markup, calls(("time", {})), [TIME]))
    texts = [call, "plain text\n", "1 < 2 [sic]", f"so {render_calls(markup, calls(('time', {})), [TIME])}"]
    assert accepted(languages["fcall"], texts) == [call]
    assert accepted(languages["nofcall"], texts) == texts[1:3]
    assert accepted(languages["root"], texts) == texts[:3]
    rng = random.Random(markup)
    for _ in range(3):
        text = random_text(languages["nofcall"], rng, max_bytes=60)
        assert text is None or parse_calls(markup, text).calls == []


def test_markup_control_tokens_are_single_tokens() -> None:
    grammar = compile_request(Options(), Names(), tools=[TIME], markup="mistral", force_tools=True)
    assert "<[8]>" in json.loads(grammar)["grammars"][0]["lark_grammar"]
    assert "TOOL_CALLS" not in grammar

"""Response formats, and the white space of constrained answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from llguidance import LLMatcher

from cactus_actors.protocol.errors import InvalidRequest
from cactus_actors.protocol.options import Options
from cactus_actors.structured import compile_request
from tests.support.text.grammar_texts import BYTES, Names, accepted, accepts, grammar_of


def test_white_space_is_bounded_and_strings_have_one_spelling() -> None:
    grammar = grammar_of(json_schema={"type": "array"})
    assert accepted(grammar, ["[]", "[ ]", "[  ]", "[\n]", "[\t]", "[ \n]", " []"]) == ["[]", "[ ]"]
    assert not accepts(grammar, r'["\u0061"]')


@pytest.mark.parametrize(
    ("response_format", "valid", "invalid"),
    [
        ({"type": "json_object"}, '{"a":[1]}', "[1]"),
        ({"type": "json_object", "schema": {"type": "array"}}, "[1]", "{}"),
        (
            {"type": "json_schema", "json_schema": {"name": "n", "strict": True, "schema": {"type": "null"}}},
            "null",
            "1",
        ),
        ({"type": "json_schema", "schema": {"type": "null"}}, "null", "1"),
    ],
)
def test_response_formats_are_compiled(response_format: dict[str, Any], valid: str, invalid: str) -> None:
    grammar = grammar_of(response_format=response_format)
    assert accepts(grammar, valid)
    assert not accepts(grammar, invalid)


def test_text_is_not_constrained() -> None:
    assert grammar_of(response_format={"type": "text"}) == ""
    assert grammar_of() == ""


@pytest.mark.parametrize(
    "response_format",
    [{}, {"type": "xml"}, {"type": "json_schema"}, {"type": "json_schema", "json_schema": {}}],
)
def test_invalid_response_formats_are_refused(response_format: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest) as caught:
        grammar_of(response_format=response_format)
    assert caught.value.param == "response_format"


ANSWER = {"properties": {"answer": {"const": 1}}, "required": ["answer"], "additionalProperties": False}
TOOL = {"type": "function", "function": {"name": "t", "parameters": {"type": "object", **ANSWER}}}


@pytest.mark.parametrize(
    ("grammar", "text"),
    [
        (grammar_of(json_schema={"type": "object", **ANSWER}), '{ "answer" : 1 }'),
        (
            grammar_of(response_format={"type": "json_object", "schema": {"type": "object", **ANSWER}}),
            '{ "answer" : 1 }',
        ),
        (
            compile_request(Options(), Names(), tools=[TOOL], force_tools=True, parallel_tool_calls=False),
            '```json\n{ "name": "t", "arguments": { "answer" : 1 } }\n```',
        ),
    ],
)
def test_white_space_is_bounded_even_if_the_model_prefers_it(grammar: str, text: str) -> None:
    """White space is written at every position that allows it."""
    matcher, written = LLMatcher(BYTES, grammar, log_level=0), bytearray()
    while not matcher.is_stopped() and len(written) < 80:
        mask = np.frombuffer(matcher.compute_bitmask(), np.uint8)
        legal = [int(byte) for byte in np.flatnonzero(np.unpackbits(mask, bitorder="little")[:256])]
        written.append(next((byte for byte in legal if byte in b" \t\n\r"), legal[0]))
        matcher.consume_token(written[-1])
    assert written.decode() == text

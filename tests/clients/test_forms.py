"""Constrained answers, checked by llguidance's own compilers and matcher over bytes, and by `jsonschema`."""

from __future__ import annotations

import json
from typing import Any

import httpx
import llguidance
import pytest
from llguidance.gbnf_to_lark import gbnf_to_lark

from tests.support.services.real_service import RealService

jsonschema = pytest.importorskip("jsonschema", reason="the extra `clients` is not installed")

NUM_SEEDS = 4
BYTES = llguidance.LLTokenizer("byte")
COLOURS = 'root ::= ("red" | "green" | "blue") (", " ("dark" | "light"))?\n'
DATE = "[12][0-9]{3}-[01][0-9]"
ORDER: dict[str, Any] = {
    "type": "object",
    "properties": {
        "id": {"type": "string", "pattern": "^[A-Z]{2}[0-9]{3}$"},
        "lines": {
            "type": "array",
            "minItems": 1,
            "maxItems": 3,
            "items": {
                "type": "object",
                "properties": {
                    "count": {"type": "integer", "minimum": 1, "maximum": 12},
                    "kind": {"enum": ["apple", "pear"]},
                },
                "required": ["count", "kind"],
                "additionalProperties": False,
            },
        },
        "paid": {"type": "boolean"},
    },
    "required": ["id", "lines", "paid"],
    "additionalProperties": False,
}
FORMS = {
    "grammar": ({"grammar": COLOURS}, gbnf_to_lark(COLOURS)),
    "regex": ({"regex": DATE}, llguidance.LLMatcher.grammar_from_regex(DATE)),
    "json_schema": ({"json_schema": ORDER}, llguidance.LLMatcher.grammar_from_json_schema(ORDER)),
}


@pytest.mark.parametrize("form", FORMS)
def test_constrained_texts_match_their_grammar(service: RealService, form: str) -> None:
    option, grammar = FORMS[form]
    texts = answers(service, option)
    assert [text for text in texts if not is_accepted(text, grammar)] == []
    assert not is_accepted(f"{texts[0]}!", grammar)
    if form == "json_schema":
        for text in texts:
            jsonschema.validate(json.loads(text), ORDER)


def answers(service: RealService, option: dict[str, Any]) -> list[str]:
    """Answers with that constraint, at a temperature that gives wrong answers without it."""
    body = {
        "prompt": ["A list:", "{"],
        "n": NUM_SEEDS,
        "temperature": 2,
        "top_k": 0,
        "max_tokens": 300,
        "seed": 1,
    }
    answer = httpx.post(f"{service.url}/v1/completions", json=body | option, timeout=60).json()
    assert {choice["finish_reason"] for choice in answer["choices"]} == {"stop"}
    return [choice["text"] for choice in answer["choices"]]


def is_accepted(text: str, grammar: str) -> bool:
    """True if the language of a grammar contains the whole text."""
    matcher = llguidance.LLMatcher(BYTES, grammar)
    assert not matcher.is_error(), matcher.get_error()
    return bool(matcher.try_consume_tokens(list(text.encode())) == len(text.encode()) and matcher.is_accepting())

"""Grammars of a request: named languages, tool calls, and refusals in the terms of the request."""

from __future__ import annotations

from typing import Any

import pytest

from cactus_actors.protocol.errors import (
    InvalidRequest,
    NotSupported,
    SchemaInvalid,
    SchemaTooComplex,
    SchemaUnsatisfiable,
)
from cactus_actors.protocol.options import Options
from cactus_actors.structured import ROOTS, compile_request
from cactus_actors.structured.compiler_messages import error_of
from tests.support.text.grammar_texts import Names, accepted, accepts, grammar_of

WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "parameters": {
            "type": "object",
            "properties": {"city": {"enum": ["Rome", "Oslo"]}, "days": {"type": "integer"}},
            "required": ["city"],
        },
    },
}
TIME = {"name": "time"}


BLANK = " \t\n\r"
OF_ROOTS: dict[str, tuple[list[str], list[str]]] = {
    "value": (["1", '{"a": [null]}', '"x"'], [" 1", "x"]),
    "object": (["{}", '{"a":1}'], ["[]", "{} "]),
    "array": (["[]", "[1, [2]]"], ["{}"]),
    "string": (['""', r'"a\"\u00e9\ud83d\ude00"'], ['"', r'"\ud800"', '"\n"', r'"\x"']),
    "number": (["0", "-1.5e+3", "120"], ["01", "1.", "+1", ".5", "1e"]),
    "insidevalue": (["", "a b", r"\"\\\/\u0041"], ['"', "\\", "\n", r"\u00g0"]),
    "ws": (["", BLANK, " " * 32], ["a", " " * 33]),
    "func": (
        ['{"name":"time", "arguments":{}}', '{"name":"weather","arguments":{"city":"Rome"}}'],
        ['{"name":"x","arguments":{}}', '{"name":"weather","arguments":{}}'],
    ),
    "funcarray": (
        [
            '[{"name":"time","arguments":{}}]',
            '[{"name":"time","arguments":{}},{"name":"time","arguments":{}}]',
        ],
        ["[]", "{}"],
    ),
}


@pytest.mark.parametrize("root", OF_ROOTS)
def test_named_languages_accept_their_texts(root: str) -> None:
    valid, invalid = OF_ROOTS[root]
    grammar = compile_request(Options(grammar_root=root), Names(), tools=[WEATHER, TIME])
    assert accepted(grammar, valid + invalid) == valid


def test_calls_without_tools_may_have_any_name() -> None:
    grammar = grammar_of(grammar_root="func")
    assert accepted(grammar, ['{"name":"x","arguments":{"a":1}}', '{"name":1,"arguments":{}}']) == [
        '{"name":"x","arguments":{"a":1}}'
    ]


CALL = '```json\n{"name":"time","arguments":{}}\n```'


def test_calls_and_plain_text_have_separate_grammars() -> None:
    texts = [CALL, "plain text\n", "``` and ```js", "see ```json", f"{CALL}\n{CALL}"]
    roots = {
        root: compile_request(Options(grammar_root=root), Names(), tools=[TIME])
        for root in ("root", "fcall", "nofcall")
    }
    assert accepted(roots["fcall"], texts) == [CALL]
    assert accepted(roots["nofcall"], texts) == ["plain text\n", "``` and ```js"]
    assert accepted(roots["root"], texts) == [CALL, "plain text\n", "``` and ```js"]


def test_there_are_twelve_named_languages() -> None:
    assert set(ROOTS) == {*OF_ROOTS, "root", "fcall", "nofcall"}
    assert len(ROOTS) == 12
    with pytest.raises(InvalidRequest) as caught:
        grammar_of(grammar_root="boolean")
    assert caught.value.param == "grammar_root"


def test_impossible_forced_calls_are_refused() -> None:
    def refused(*tools: dict[str, Any], **options: Any) -> InvalidRequest:
        with pytest.raises(InvalidRequest) as caught:
            compile_request(Options(**options), Names(), tools=tools, force_tools=True)
        return caught.value

    assert refused().param == "force_tools"
    assert refused({"type": "function", "function": {}}).param == "tools"
    assert refused({"name": "x", "parameters": {"type": "array"}}).param == "tools"
    unenforced = refused({"name": "x", "parameters": {"properties": {"a": {"not": {"minimum": 1}}}}})
    assert isinstance(unenforced, NotSupported)
    assert unenforced.param == "tools"
    assert refused(TIME, regex="a").param == "force_tools"


@pytest.mark.parametrize(
    ("options", "param"),
    [
        ({"json_schema": {}, "grammar": 'root ::= "a"'}, "grammar"),
        ({"json_schema": {}, "response_format": {"type": "json_object"}}, "response_format"),
        ({"regex": "a", "grammar_root": "value"}, "grammar_root"),
        ({"json_schema": {}, "regex": "a"}, "regex"),
    ],
)
def test_two_structure_options_are_refused(options: dict[str, Any], param: str) -> None:
    with pytest.raises(InvalidRequest, match="both") as caught:
        grammar_of(**options)
    assert caught.value.param == param


def test_a_text_response_format_is_accepted_with_another_option() -> None:
    assert accepts(grammar_of(regex="a", response_format={"type": "text"}), "a")


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        (
            {"regex": "a$b"},
            NotSupported,
            "the expression a$b looks around: ^ and $ can stand only",
        ),
        ({"regex": r"ab\p{Foo}"}, SchemaInvalid, "the expression, position 2: unicode property not found"),
        ({"regex": "(?P<a>x)(?P<a>y)"}, SchemaInvalid, "position 4: duplicate capture group name"),
        (
            {"json_schema": {"type": "integer", "minimum": 4, "maximum": 3}},
            SchemaUnsatisfiable,
            "no value can match it: minimum (4) is greater than maximum (3)",
        ),
        (
            {"json_schema": {"type": "string", "format": "ipv4", "pattern": "^a$"}},
            SchemaUnsatisfiable,
            "no text can match it: its patterns, lengths and formats exclude each other",
        ),
        (
            {"json_schema": {"type": "integer", "multipleOf": 7, "minimum": 1, "maximum": 3}},
            SchemaUnsatisfiable,
            "no number within its bounds is a multiple of 7",
        ),
        ({"json_schema": {"type": "number", "minimum": 1e300}}, NotSupported, "its bounds or its"),
        (
            {"json_schema": {"type": "number", "multipleOf": 1e-30}},
            NotSupported,
            "its bounds or its multipleOf",
        ),
        (
            {"json_schema": {"patternProperties": {"^a": {}, "^ab": {}}}},
            NotSupported,
            "only where no name matches two: /^a/ and /^ab/",
        ),
        (
            {"json_schema": {"properties": {"a": {}}, "maxProperties": 0}},
            NotSupported,
            "minProperties and maxProperties can be enforced only where",
        ),
        (
            {"json_schema": {"type": "string", "minLength": 100_000, "pattern": "^(ab)*$"}},
            SchemaTooComplex,
            "it is too complex to be compiled",
        ),
    ],
)
def test_refusals_use_the_field_names_of_the_request(
    options: dict[str, Any], kind: type[InvalidRequest], message: str
) -> None:
    [param] = options
    with pytest.raises(kind) as refused:
        grammar_of(**options)
    assert type(refused.value) is kind
    assert message in refused.value.message
    assert refused.value.param == param


def test_unexpected_errors_are_reported_without_the_compilers_text() -> None:
    for said in ("thread panicked at src/earley/parser.rs:17", "T0: (/a/){0,0}", ""):
        assert error_of(said, "grammar").message == "it cannot be compiled"
    assert error_of("lexer fuel exceeded at T0", "regex").message == "it is too complex to be compiled"

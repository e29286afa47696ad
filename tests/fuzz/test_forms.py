"""Untrusted schemas, expressions, grammars and templates: enforced, or refused by name, within seconds."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from cactus_actors.protocol.errors import CactusError, InvalidRequest, ModelFileInvalid, TemplateInvalid
from cactus_actors.structured.keywords import ANNOTATIONS, FORMATS, TYPES
from cactus_actors.structured.keywords import REFUSED as REFUSED_KEYWORDS
from cactus_actors.structured.schema import KEYWORD_READERS
from cactus_actors.text import ChatTemplate
from tests.support.fuzzing.damage import changed_data, damaged
from tests.support.fuzzing.judging import answer, fuzzed
from tests.support.fuzzing.values import odd, plain, texts
from tests.support.text.grammar_texts import accepts, grammar_of, random_grammar

KEYWORDS = sorted({*KEYWORD_READERS, *ANNOTATIONS, *REFUSED_KEYWORDS, "$id", "id", "x-guidance"})
REFERENCES = (
    "#",
    "#/$defs/a",
    "#/$defs/b",
    "#/properties/a",
    "#/nowhere",
    "#a",
    "http://x/y",
    "#/allOf/" + "0" * 5000,
)
PATTERNS = (
    "a+",
    "(a+)+b",
    "^[a-z]{1,30}$",
    "(.*){30}",
    "a{1,5000}",
    "[^\\d]",
    "(?i)x|y",
    "(",
    "\\u00e9",
    "(?=a)",
    "x" * 99,
)
NAMES = st.sampled_from(["a", "b", "c", "", "a/b", "é", '"', "\\", "\ud800"])


def schemas() -> st.SearchStrategy[Any]:
    """Schemas like those that users write, and slightly wrong ones."""
    return st.recursive(st.booleans() | plain, _around, max_leaves=12)


def _around(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    several = st.lists(inner, max_size=4)
    named = st.dictionaries(NAMES, inner, max_size=4)
    counts = st.sampled_from([0, 1, 2, 3, 7.0, 300, 100_000, 10**9, -1])
    values: dict[str, st.SearchStrategy[Any]] = {
        "type": st.sampled_from([*TYPES, [*TYPES], ["integer", "null"]]),
        "format": st.sampled_from([*FORMATS, "iban"]),
        "$ref": st.sampled_from(REFERENCES),
        "pattern": st.sampled_from(PATTERNS),
        "enum": st.lists(plain, max_size=4),
        "const": plain,
        "required": st.lists(NAMES, max_size=3),
        "patternProperties": st.dictionaries(st.sampled_from(PATTERNS), inner, max_size=2),
        **dict.fromkeys(("properties", "$defs", "definitions", "dependentSchemas"), named),
        **dict.fromkeys(("allOf", "anyOf", "oneOf", "prefixItems"), several),
        **dict.fromkeys(("minItems", "maxItems", "minLength", "maxLength", "minProperties"), counts),
        **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "multipleOf"), st.floats() | st.integers()),
        **dict.fromkeys(("items", "additionalProperties", "not", "if", "then", "contains"), inner),
    }
    members = st.one_of(*(st.tuples(st.just(name), value) for name, value in values.items()))
    return st.lists(members, max_size=5).map(dict)


SOUND = {
    "type": "object",
    "properties": {
        "a": {"$ref": "#/$defs/a"},
        "b": {"type": "array", "items": {"enum": [1, "x"]}, "maxItems": 3},
    },
    "required": ["a"],
    "additionalProperties": False,
    "$defs": {"a": {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "string", "pattern": "^x+$"}]}},
}


def judged(**options: Any) -> str | None:
    """The grammar, or None if it was refused with the option's name."""
    compiled = answer(grammar_of, **options)
    if compiled == "":
        return None
    if isinstance(compiled, CactusError):
        assert isinstance(compiled, InvalidRequest)
        assert compiled.param in options
        return None
    accepts(compiled, "{}")  # a grammar that compiles can be used
    return compiled


@fuzzed(30)
@given(
    schema=st.one_of(
        schemas(), changed_data(SOUND), st.tuples(st.sampled_from(KEYWORDS), odd).map(lambda one: dict([one]))
    )
)
def test_arbitrary_schemas_are_compiled_or_refused(schema: Any) -> None:
    judged(json_schema=schema)


@fuzzed(15)
@given(
    pattern=st.one_of(
        st.from_regex(r"[abc\[\](){}*+?|\\.^$0-9,\-é:<>=!dwsSx]{0,30}", fullmatch=True),
        st.sampled_from(PATTERNS),
        texts,
    )
)
def test_arbitrary_expressions_are_compiled_or_refused(pattern: str) -> None:
    judged(regex=pattern)


@st.composite
def grammars(draw: DrawFn) -> str:
    grammar = random_grammar(random.Random(draw(st.integers(0, 10_000))))
    if draw(st.booleans()):
        return draw(damaged(grammar.encode())).decode("utf-8", errors="surrogateescape")
    return grammar + draw(st.sampled_from(["", "\n", '\nroot ::= "x"', " <think>", " !<[3]>*", "{0,9999}", " # é"]))


@fuzzed(15)
@given(grammar=grammars())
def test_damaged_grammars_are_compiled_or_refused(grammar: str) -> None:
    judged(grammar=grammar)


@fuzzed(8)
@given(response_format=changed_data({"type": "json_schema", "json_schema": {"name": "n", "schema": SOUND}}))
def test_changed_response_formats_are_compiled_or_refused(response_format: Any) -> None:
    if isinstance(response_format, dict):
        judged(response_format=response_format)


# templates

FILE = Path("some-model/chat_template.jinja")
MESSAGES = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "hé"}]},
    {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": '{"a": 1}'}}]},
]
ATOMS = (
    *(
        "messages",
        "messages[0].content",
        "'abc'",
        "7",
        "-1",
        "2.5",
        "none",
        "true",
        "x",
        "loop",
        "range(99999)",
    ),
    *("''.__class__", "[messages]", "{'a': x}", "bos_token", "self", "namespace()", "cycler", "''|attr('x')"),
    *(
        "strftime_now('%Y')",
        "9999999",
        "'%s' % x",
        "messages[99]",
        "(1, 2)",
        "'a' * 99999",
        "joiner()",
        "dict()",
    ),
)
FILTERS = (
    *("upper", "length", "tojson", "tojson(indent=4)", "list", "join(',')", "first", "last", "trim", "int"),
    *("replace('a', 'bb')", "map(attribute='role')", "selectattr('role')", "sort", "unique", "indent(4)"),
    *("format(1, 2)", "string", "batch(2)", "default('x')", "items", "dictsort", "groupby('role')", "float"),
    *("map('upper')", "sort(attribute='role')", "truncate(3)", "title", "reverse", "min", "max", "wordcount"),
)
OPERATORS = ("+", "-", "*", "/", "//", "%", "**", "~", "and", "or", "==", "<", "in", "is defined and")
expressions = st.recursive(
    st.sampled_from(ATOMS),
    lambda inner: st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from(OPERATORS), inner),
        st.builds("({})|{}".format, inner, st.sampled_from(FILTERS)),
        st.builds("({})[{}]".format, inner, inner),
        st.builds(
            "({}).{}".format,
            inner,
            st.sampled_from(["content", "items()", "split('a')", "join(x)", "__init__"]),
        ),
        st.builds("({} if {} else {})".format, inner, inner, inner),
    ),
    max_leaves=8,
)
templates = st.recursive(
    st.one_of(st.builds("{{{{ {} }}}}".format, expressions), st.sampled_from(["text", "\n", "{# c #}", "{%"])),
    lambda inner: st.one_of(
        st.builds("{{% for x in {} %}}{}{{% endfor %}}".format, expressions, inner),
        st.builds("{{% if {} %}}{}{{% else %}}{}{{% endif %}}".format, expressions, inner, inner),
        st.builds("{{% set x = {} %}}{}".format, expressions, inner),
        st.builds("{{% set x %}}{}{{% endset %}}{}".format, inner, inner),
        st.builds("{{% macro x(a, b={}) %}}{}{{% endmacro %}}{{{{ x(1) }}}}".format, expressions, inner),
        st.builds("{{% filter {} %}}{}{{% endfilter %}}".format, st.sampled_from(FILTERS), inner),
        st.builds("{{% call(y) x() %}}{}{{% endcall %}}".format, inner),
        st.builds("{{% with x = {} %}}{}{{% endwith %}}".format, expressions, inner),
        st.builds("{{% block x %}}{}{{% endblock %}}".format, inner),
        st.lists(inner, max_size=4).map("".join),
    ),
    max_leaves=10,
)


@fuzzed(38)
@given(source=st.one_of(templates, damaged(templates.map(str.encode)).map(lambda raw: raw.decode(errors="replace"))))
def test_arbitrary_templates_are_rendered_or_refused(source: str) -> None:
    template = answer(ChatTemplate.compile, source, FILE, {"bos_token": "<s>"}, names=[str(FILE)])
    if isinstance(template, CactusError):
        assert isinstance(template, ModelFileInvalid)
        return
    prompt = answer(template.render, MESSAGES, names=["chat template"])
    assert isinstance(prompt, str | TemplateInvalid)

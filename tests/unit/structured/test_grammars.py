"""Regular expressions, GBNF, named languages and tool calls: exactly the texts that they describe."""

from __future__ import annotations

import itertools
import json
import random
import time
from collections.abc import Mapping
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
from cactus_actors.structured.gbnf.parser import parse_grammar
from cactus_actors.structured.gbnf.tree import Characters, Choice, Concatenation, Node, Reference, Repeat, Text
from tests.support.text.grammar_texts import Names, accepted, accepts, grammar_of, random_grammar

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


# regular expressions


@pytest.mark.parametrize(
    ("pattern", "valid", "invalid"),
    [
        ("a+b?", ["a", "aab"], ["b", "", "abb"]),
        ("^foo$", ["foo"], ["^foo$", "xfoo"]),
        ("(a+)+b", ["aab"], ["aa"]),
        ("(.*){100}", ["", "anything"], ["a\n"]),
        (r"\d\w", ["1_"], ["٣a", "1é"]),
        ("a/b", ["a/b"], ["a"]),
        ("(?i)yes", ["YES", "yes"], ["no"]),
        (r"[^\]a]{2,3}", ["bc", "xyz"], ["ab", "b]"]),
        ("a*?", ["", "aa"], ["b"]),
        ("", [""], ["a"]),
        (r"(?P<x>a|b)\x{1F600}", ["a😀"], ["a"]),
        (r"\p{Lu}", ["É"], ["é"]),
    ],
)
def test_expressions(pattern: str, valid: list[str], invalid: list[str]) -> None:
    assert accepted(grammar_of(regex=pattern), valid + invalid) == valid


@pytest.mark.parametrize(
    ("pattern", "kind", "position"),
    [
        ("a{1,100000}", SchemaTooComplex, 11),
        ("(a{1,1000}){1,1000}", SchemaTooComplex, 19),
        ("(" * 3000, SchemaTooComplex, None),
        ("a" * 20_000, SchemaTooComplex, None),
        ("foo**", SchemaInvalid, 4),
        ("*a", SchemaInvalid, 0),
        ("a|+", SchemaInvalid, 2),
        ("[", SchemaInvalid, 0),
        ("[a[b]]", SchemaInvalid, 2),
        ("[]a]", SchemaInvalid, 1),
        ("a)", SchemaInvalid, 1),
        ("x(a", SchemaInvalid, 1),
        ("a{,2}", SchemaInvalid, 1),
        ("a{3,2}", SchemaInvalid, 1),
        ("ab\\", SchemaInvalid, 2),
        ("(?=a)b", NotSupported, 0),
        ("a(?<!b)", NotSupported, 1),
        (r"(a)\1", NotSupported, 3),
        (r"\bword", NotSupported, 0),
        ("[a-z&&b]", NotSupported, 4),
        ("a$b", NotSupported, None),
        (r"[^\s\S]", SchemaUnsatisfiable, None),
        ("\ud800", SchemaInvalid, 0),
    ],
)
def test_expressions_that_are_refused(pattern: str, kind: type[InvalidRequest], position: int | None) -> None:
    started = time.process_time()
    with pytest.raises(InvalidRequest) as caught:
        grammar_of(regex=pattern)
    assert time.process_time() - started < 2
    assert type(caught.value) is kind
    assert caught.value.param == "regex"
    if position is not None:
        assert f"position {position}" in caught.value.message


# GBNF


@pytest.mark.parametrize(
    ("grammar", "valid", "invalid"),
    [
        ('root ::= "a" | "b" c\nc ::= [x-z]+', ["a", "bxz"], ["b", "c", "xz"]),
        ('root ::= ("a" # comment "\n  | "b"\n)* "c"', ["c", "abac"], ["ab", "cc"]),
        ('root ::= "a" |\n  "b"\n\n# end', ["a", "b"], ["ab"]),
        ('root ::= "a"{2} "b"{1,} "c"{0,2} "d"{ 1 , 2 }', ["aabd", "aabbccdd"], ["abd", "aabcccd"]),
        ('root ::= "a"{0} ("b" c){0,0} "d"\nc ::= "c" c "c" | "x"', ["d"], ["ad", "bd"]),
        ('root ::= "a"? "b"*', ["", "a", "bb"], ["aa", "ba"]),
        (r'root ::= "\x41é\U0001F600\t\\\"" [\]\[^]', ['Aé😀\t\\"]', 'Aé😀\t\\"^'], ["A"]),
        (r"""root ::= 'a"b' "c'd" '\'\n\"'""", ["a\"bc'd'\n\""], ["ab"]),
        ("root ::= '' 'x'? '(' [']", ["('", "x('"], ["(", "x'"]),
        (
            # the example of a completions API whose server takes single quotes
            "root ::= expr\nexpr ::= term (('+' | '-') term)*\nterm ::= factor (('*' | '/') factor)*\n"
            "factor ::= [0-9]+ | '(' expr ')'",
            ["1", "1+23*4", "(1-2)/3", "((7))"],
            ["", "1+", "(1", "'1'"],
        ),
        ("root ::= [^a-c\\n] .", ["dd", "x\n", "é\0"], ["ax", "d"]),
        ("root ::= [a-]", ["a", "-"], ["b"]),
        ('root ::= "" | "x"', ["", "x"], ["xx"]),
        # a loop may come round with nothing as long as it can also come round with something
        ('root ::= ("a"? | "")* ws+ "." ""{2}\nws ::= " "*', [".", "aa  ."], ["", "a"]),
        # one expression would read past what another must have
        ('root ::= [a-z]+ "end" root?', ["xend", "endend", "xendyend"], ["end", "x"]),
        (
            'root ::= "(" root ")" | word ws "."\nword ::= [a-z.]+\nws ::= [ .]*',
            ["a.", "(a .)", "(a..)"],
            ["a", "(a)"],
        ),
        ('a-Rule_1 ::= root\nroot ::= "x"', ["x"], ["y"]),
    ],
)
def test_gbnf(grammar: str, valid: list[str], invalid: list[str]) -> None:
    assert accepted(grammar_of(grammar=grammar), valid + invalid) == valid


@pytest.mark.parametrize(
    ("grammar", "kind", "place"),
    [
        ("", SchemaInvalid, "no rule root"),
        ('start ::= "a"', SchemaInvalid, "no rule root"),
        ('root ::= "a" foo', SchemaInvalid, "line 1, column 14: no rule foo"),
        ('root ::= "abc\n', SchemaInvalid, "line 1, column 10"),
        ("root ::= 'abc\"", SchemaInvalid, "line 1, column 10"),
        ('root ::= "a"\nx ::= [ab', SchemaInvalid, "line 2, column 7"),
        ('root ::= ("a"', SchemaInvalid, "line 1, column 10"),
        ('root ::= "a")', SchemaInvalid, "line 1, column 13"),
        ('root ::= "a"\nroot ::= "b"', SchemaInvalid, "line 2, column 1"),
        ("root = 5", SchemaInvalid, "line 1, column 6"),
        (r'root ::= "\q"', SchemaInvalid, "line 1, column 11"),
        (r'root ::= "\uD800"', SchemaInvalid, "line 1, column 11"),
        ("root ::= [z-a]", SchemaInvalid, "line 1, column 10"),
        ("root ::= []", SchemaInvalid, "line 1, column 10"),
        ('root ::= "a"{2,1}', SchemaInvalid, "line 1, column 13"),
        ('root ::= "a"{x}', SchemaInvalid, "line 1, column 13"),
        ("root ::= <nothing>", SchemaInvalid, "line 1, column 10"),
        ("root ::= <[256]>", SchemaInvalid, "line 1, column 10"),
        ('root ::= root "a" | "b"', SchemaInvalid, "line 1, column 1: the rule root begins"),
        (
            'root ::= "x" a\na ::= ""? b\nb ::= a "c" | "d"',
            SchemaInvalid,
            "line 2, column 1: the rule a begins",
        ),
        ('root ::= ""*', SchemaInvalid, "line 1, column 12: what is repeated without end is always empty"),
        ('root ::= "a" (""*)*', SchemaInvalid, "line 1, column 19"),
        ('root ::= "a" |\n  x+\nx ::= ""', SchemaInvalid, "line 2, column 4"),
        ('root ::= "a" | x{2,}\nx ::= y? ""\ny ::= ("" | "b"{0})', SchemaInvalid, "line 1, column 17"),
        ('root ::= "a" root', SchemaUnsatisfiable, "line 1, column 1: no text obeys the rule root"),
        (
            'root ::= "a" | b\n  b ::= "b" b',
            SchemaUnsatisfiable,
            "line 2, column 3: no text obeys the rule b",
        ),
        ('root ::= "a" | !<[99]> "b"\n', NotSupported, "line 1, column 16"),
        ('root ::= "' + "a" * (1 << 20) + '"', SchemaTooComplex, "bytes"),
        ('root ::= "a"{100000}', SchemaTooComplex, "line 1, column 13"),
        ('root ::= (("a"{100}){100}){100}', SchemaTooComplex, "line 1"),
        ("root ::= " + "(" * 70 + '"a"' + ")" * 70, SchemaTooComplex, "inside"),
        (
            "root ::= r0\n" + "".join(f'r{i} ::= "x" r{i + 1} "y"\n' for i in range(900)) + 'r900 ::= root | "z"',
            SchemaTooComplex,
            "chain",
        ),
    ],
)
def test_gbnf_that_is_refused(grammar: str, kind: type[InvalidRequest], place: str) -> None:
    started = time.process_time()
    with pytest.raises(InvalidRequest) as caught:
        grammar_of(grammar=grammar)
    assert time.process_time() - started < 2
    assert type(caught.value) is kind
    assert place in caught.value.message
    assert caught.value.param == "grammar"


def test_gbnf_tokens_are_named_by_id() -> None:
    grammar = grammar_of(grammar="root ::= <think> t </think> .*\nt ::= !</think>*")
    for term in ("<[5]>", "<[^6]>", "<[6]>"):
        assert term in json.loads(grammar)["grammars"][0]["lark_grammar"]


def test_grammar_root_names_the_start_of_a_grammar() -> None:
    rules = 'root ::= "a"\nother ::= "b"'
    assert accepted(grammar_of(grammar=rules, grammar_root="other"), ["a", "b"]) == ["b"]
    with pytest.raises(SchemaInvalid, match="no rule value"):
        grammar_of(grammar=rules, grammar_root="value")


LONGEST = 5
LETTERS = "abc"


def texts_of(rules: Mapping[str, Node]) -> frozenset[str]:
    """All texts of the rule `root` of LETTERS, up to LONGEST, by their meaning."""
    known: dict[str, frozenset[str]] = dict.fromkeys(rules, frozenset())

    def joined(left: frozenset[str], right: frozenset[str]) -> frozenset[str]:
        return frozenset(a + b for a in left for b in right if len(a) + len(b) <= LONGEST)

    def texts(node: Node) -> frozenset[str]:
        match node:
            case Characters(ranges):
                return frozenset(one for one in LETTERS if any(low <= ord(one) <= high for low, high in ranges))
            case Text(text):
                return frozenset([text] if len(text) <= LONGEST else [])
            case Reference(name):
                return known[name]
            case Choice(items):
                return frozenset().union(*map(texts, items))
            case Concatenation(items):
                whole = frozenset([""])
                for item in items:
                    whole = joined(whole, texts(item))
                return whole
            case Repeat(item, least, most):
                once, times = texts(item), frozenset([""])
                found: frozenset[str] = frozenset()
                for count in range((least + LONGEST if most is None else most) + 1):
                    if count >= least:
                        found |= times
                    times = joined(times, once)
                return found
        raise AssertionError(node)

    while (more := {name: texts(node) for name, node in rules.items()}) != known:
        known = more
    return known["root"]


def test_gbnf_means_what_it_says() -> None:
    """Random grammars against the definition, every text of three letters up to a length."""
    candidates = ["".join(one) for n in range(LONGEST + 1) for one in itertools.product(LETTERS, repeat=n)]
    num_compared = 0
    for seed in range(150):
        grammar = random_grammar(random.Random(seed))
        try:
            compiled = grammar_of(grammar=grammar)
        except SchemaInvalid:  # such as left recursion
            continue
        texts = texts_of(parse_grammar(grammar, Names()).rules)
        assert accepted(compiled, candidates) == [text for text in candidates if text in texts], grammar
        num_compared += 1
    assert num_compared > 50


# named languages

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
def test_named_languages(root: str) -> None:
    valid, invalid = OF_ROOTS[root]
    grammar = compile_request(Options(grammar_root=root), Names(), tools=[WEATHER, TIME])
    assert accepted(grammar, valid + invalid) == valid


def test_functions_without_tools_are_of_any_name() -> None:
    grammar = grammar_of(grammar_root="func")
    assert accepted(grammar, ['{"name":"x","arguments":{"a":1}}', '{"name":1,"arguments":{}}']) == [
        '{"name":"x","arguments":{"a":1}}'
    ]


CALL = '```json\n{"name":"time","arguments":{}}\n```'


def test_calls_and_text_without_calls() -> None:
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


# tool calls


def test_calls_that_cannot_be_forced() -> None:
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


# one form at a time


@pytest.mark.parametrize(
    ("options", "param"),
    [
        ({"json_schema": {}, "grammar": 'root ::= "a"'}, "grammar"),
        ({"json_schema": {}, "response_format": {"type": "json_object"}}, "response_format"),
        ({"regex": "a", "grammar_root": "value"}, "grammar_root"),
        ({"json_schema": {}, "regex": "a"}, "regex"),
    ],
)
def test_two_forms_are_refused(options: dict[str, Any], param: str) -> None:
    with pytest.raises(InvalidRequest, match="both") as caught:
        grammar_of(**options)
    assert caught.value.param == param


def test_a_response_format_of_text_goes_with_another_form() -> None:
    assert accepts(grammar_of(regex="a", response_format={"type": "text"}), "a")


# the words of a refusal


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
            "no value obeys it: minimum (4) is greater than maximum (3)",
        ),
        (
            {"json_schema": {"type": "string", "format": "ipv4", "pattern": "^a$"}},
            SchemaUnsatisfiable,
            "no text obeys it: its patterns, lengths and formats exclude each other",
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
def test_refusals_are_in_the_words_of_the_request(
    options: dict[str, Any], kind: type[InvalidRequest], message: str
) -> None:
    [param] = options
    with pytest.raises(kind) as refused:
        grammar_of(**options)
    assert type(refused.value) is kind
    assert message in refused.value.message
    assert refused.value.param == param


def test_what_nobody_foresaw_is_told_without_the_words_of_the_compiler() -> None:
    for said in ("thread panicked at src/earley/parser.rs:17", "T0: (/a/){0,0}", ""):
        assert error_of(said, "grammar").message == "it cannot be compiled"
    assert error_of("lexer fuel exceeded at T0", "regex").message == "it is too complex to be compiled"

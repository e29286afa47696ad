"""Grammars written in GBNF."""

from __future__ import annotations

import itertools
import json
import random
import time
from collections.abc import Mapping

import pytest

from cactus_actors.protocol.errors import (
    InvalidRequest,
    NotSupported,
    SchemaInvalid,
    SchemaTooComplex,
    SchemaUnsatisfiable,
)
from cactus_actors.structured.gbnf.parser import parse_grammar
from cactus_actors.structured.gbnf.tree import Characters, Choice, Concatenation, Node, Reference, Repeat, Text
from tests.support.text.grammar_texts import Names, accepted, grammar_of, random_grammar


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
        # a loop may repeat an empty match as long as it can also match something
        ('root ::= ("a"? | "")* ws+ "." ""{2}\nws ::= " "*', [".", "aa  ."], ["", "a"]),
        # one expression would read past the text of another one
        ('root ::= [a-z]+ "end" root?', ["xend", "endend", "xendyend"], ["end", "x"]),
        (
            'root ::= "(" root ")" | word ws "."\nword ::= [a-z.]+\nws ::= [ .]*',
            ["a.", "(a .)", "(a..)"],
            ["a", "(a)"],
        ),
        ('a-Rule_1 ::= root\nroot ::= "x"', ["x"], ["y"]),
    ],
)
def test_gbnf_grammars_are_compiled(grammar: str, valid: list[str], invalid: list[str]) -> None:
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
        ('root ::= ""*', SchemaInvalid, "line 1, column 12: the repeated item matches only empty text"),
        ('root ::= "a" (""*)*', SchemaInvalid, "line 1, column 19"),
        ('root ::= "a" |\n  x+\nx ::= ""', SchemaInvalid, "line 2, column 4"),
        ('root ::= "a" | x{2,}\nx ::= y? ""\ny ::= ("" | "b"{0})', SchemaInvalid, "line 1, column 17"),
        ('root ::= "a" root', SchemaUnsatisfiable, "line 1, column 1: no text can match the rule root"),
        (
            'root ::= "a" | b\n  b ::= "b" b',
            SchemaUnsatisfiable,
            "line 2, column 3: no text can match the rule b",
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
def test_invalid_gbnf_is_refused(grammar: str, kind: type[InvalidRequest], place: str) -> None:
    started = time.process_time()
    with pytest.raises(InvalidRequest) as caught:
        grammar_of(grammar=grammar)
    assert time.process_time() - started < 2
    assert type(caught.value) is kind
    assert place in caught.value.message
    assert caught.value.param == "grammar"


def test_gbnf_tokens_can_be_given_by_id() -> None:
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
    """All texts of the rule `root` of LETTERS, up to LONGEST, from the definition."""
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


def test_random_gbnf_grammars_agree_with_a_reference_parser() -> None:
    """Random grammars compared with the definition, for every text of three letters up to a length."""
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

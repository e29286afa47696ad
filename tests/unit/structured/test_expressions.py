"""Regular expressions that constrain an answer."""

from __future__ import annotations

import time

import pytest

from cactus_actors.protocol.errors import (
    InvalidRequest,
    NotSupported,
    SchemaInvalid,
    SchemaTooComplex,
    SchemaUnsatisfiable,
)
from tests.support.text.grammar_texts import accepted, grammar_of


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
def test_supported_expressions_are_compiled(pattern: str, valid: list[str], invalid: list[str]) -> None:
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
def test_unsupported_expressions_are_refused(pattern: str, kind: type[InvalidRequest], position: int | None) -> None:
    started = time.process_time()
    with pytest.raises(InvalidRequest) as caught:
        grammar_of(regex=pattern)
    assert time.process_time() - started < 2
    assert type(caught.value) is kind
    assert caught.value.param == "regex"
    if position is not None:
        assert f"position {position}" in caught.value.message

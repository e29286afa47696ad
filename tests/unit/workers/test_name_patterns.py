"""Regular expressions of model files: the same matches as those of `re`, and in bounded time."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cactus_actors.workers.loading import name_patterns
from cactus_actors.workers.loading.name_patterns import NamePatterns

MODULE = "model.layers.10.self_attn.q_proj"
PIECES = st.sampled_from(["a", "b", ".", "[ab]", "[^a]", r"\b", r"\B", r"\w", r"\.", "^", "$", "[a-c.]", r"[^\d]"])
REPEATS = st.sampled_from(["*", "+", "?", "*?", "{2}", "{1,3}", "{2,}", "{0}"])
PATTERNS = st.recursive(
    PIECES,
    lambda parts: st.one_of(
        st.tuples(parts, parts).map("".join),
        st.tuples(parts, parts).map("({0[0]}|{0[1]})".format),
        st.tuples(parts, REPEATS).map("(?:{0[0]}){0[1]}".format),
        parts.map("(?={})".format),
        parts.map("(?!{})".format),
    ),
    max_leaves=8,
)


@given(PATTERNS, st.text("ab.", min_size=1, max_size=6))
def test_the_same_names_match_as_by_backtracking(pattern: str, name: str) -> None:
    assert NamePatterns().matches(pattern, name) == (re.fullmatch(pattern, name) is not None)
    may_end = re.match(rf"(.*\.)?({pattern})$", name) is not None
    assert NamePatterns().matches(pattern, name, may_be_end=True) == may_end


@pytest.mark.parametrize(
    ("pattern", "is_match"),
    [
        (r"((.*)*)*x$", False),
        (r"((.*)*)*j$", True),
        (r"(\w|\w|\.|\.)*x", False),
        (r"(.?){500}x", False),
        (r"^(?!.*visual).*layers\.\d+\..*(?:q|v)_proj$", True),
        (r"(?:.*?(?:vision|layers).*?(?:attn|mlp).*?(?:q_proj|k_proj).*?)|(?:\bmodel\.x)", True),
        (r"model(?=\.).*(?<=\.)q_proj", True),
        (r"(?<!\.)q_proj", False),
    ],
)
def test_no_expression_takes_long(pattern: str, is_match: bool) -> None:
    assert NamePatterns().matches(pattern, MODULE) is is_match


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("(", "missing"),
        ("(" * 4000, "nested too deeply"),
        ("a{99999999999}", "repeats too often"),
        ("(?i).*", "flags are not supported"),
        ("(?i:.*)", "subpattern is not supported"),
        (r"(.)\1", "groupref is not supported"),
    ],
)
def test_an_expression_that_is_not_supported_is_named(pattern: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        NamePatterns().matches(pattern, MODULE)


def test_the_steps_of_all_matches_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(name_patterns, "MAX_STEPS", 20_000)
    patterns = NamePatterns()
    num_matches = 0

    def match_all() -> None:
        nonlocal num_matches
        for number in range(20):
            patterns.matches(f"(.*.*)*x{number}", MODULE)
            num_matches += 1

    with pytest.raises(ValueError, match="too long"):
        match_all()
    assert num_matches > 0

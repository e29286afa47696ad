"""Text from tokens: complete characters, stop strings, and the same state after a replay."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cactus_actors.protocol.sampling_params import SamplingParams
from cactus_actors.workers.engine.detokenizer import Detokenizer, first_stop, longest_stop_prefix
from tests.support.models.counting_engine import PieceTokenizer


def make_detokenizer(pieces: list[bytes], *stops: str, include: bool = False, min_tokens: int = 0) -> Detokenizer:
    params = SamplingParams(max_tokens=99, stop=stops, include_stop_sequences=include, min_tokens=min_tokens)
    return Detokenizer(PieceTokenizer(*pieces), params)


def texts(pieces: list[bytes], *stops: str, include: bool = False, min_tokens: int = 0) -> list[str]:
    """The text after each token, and at the end."""
    detokenizer = make_detokenizer(pieces, *stops, include=include, min_tokens=min_tokens)
    return [*(detokenizer.feed(i).text for i in range(len(pieces))), detokenizer.flush().text]


def test_a_character_appears_when_its_last_byte_does() -> None:
    euro = "€".encode()
    assert texts([b"a" + euro[:1], euro[1:2], euro[2:] + b"b"]) == ["a", "", "€b", ""]


def test_invalid_bytes_become_replacement_characters() -> None:
    assert texts([b"a\xff", b"b\xe2\x82"]) == ["a�", "b", "�"]


def test_a_control_token_has_the_text_given_by_the_job() -> None:
    params = SamplingParams(max_tokens=9, visible_tokens=((1, "[TOOL_CALLS]"),), stop=("]{",))
    detokenizer = Detokenizer(PieceTokenizer(b"a", b"", b"{}"), params)
    assert [detokenizer.feed(token_id).text for token_id in (0, 1, 2)] == ["a", "[TOOL_CALLS", ""]
    assert detokenizer.stop_match == "]{"


def test_text_that_may_begin_a_stop_string_is_held_back() -> None:
    assert texts([b"one\n", b"two\n", b"\n", b"three"], "\n\n") == ["one", "\ntwo", "", "", ""]


def test_held_text_appears_when_it_can_no_longer_match_or_at_the_end() -> None:
    assert texts([b"a<", b"b<", b"/"], "</s>") == ["a", "<b", "", "</"]


@pytest.mark.parametrize(("include", "shown"), [(False, "xy"), (True, "xySTOP")])
def test_a_stop_string_across_tokens_is_omitted_unless_requested(include: bool, shown: str) -> None:
    pieces = [b"xyS", b"TO", b"Ptail", b"more"]
    detokenizer = make_detokenizer(pieces, "STOP", include=include)
    text = "".join(detokenizer.feed(i).text for i in range(4)) + detokenizer.flush().text
    assert (text, detokenizer.stop_match) == (shown, "STOP")


def test_the_match_that_is_complete_first_wins() -> None:
    assert first_stop("abcd", ["bcd", "c"]).stop == "c"  # type: ignore[union-attr]
    assert first_stop("abcd", ["c", "bc"]).stop == "bc"  # type: ignore[union-attr]
    assert first_stop("abcd", ["x"]) is None


def test_stop_strings_wait_for_min_tokens() -> None:
    detokenizer = make_detokenizer([b"a.", b".", b"b.", b"c"], ".", min_tokens=3)
    assert [detokenizer.feed(0).text, detokenizer.feed(1).text] == ["a.", "."]
    assert detokenizer.stop_match is None
    assert detokenizer.feed(2).text == "b"
    assert detokenizer.stop_match == "."


def test_the_end_token_has_no_text_but_counts() -> None:
    detokenizer = make_detokenizer([b"a."], ".", min_tokens=2)
    detokenizer.skip()
    assert detokenizer.feed(0).text == "a"


BYTES = st.lists(st.binary(max_size=5), max_size=12)
STOPS = st.lists(st.text("ab€", min_size=1, max_size=4), max_size=3)


@given(pieces=BYTES)
def test_without_stop_strings_the_text_has_all_bytes(pieces: list[bytes]) -> None:
    assert "".join(texts(pieces)) == b"".join(pieces).decode("utf-8", "replace")


@given(pieces=st.lists(st.text("ab€x", max_size=3), max_size=10), stops=STOPS, cut=st.integers(0, 10))
def test_the_text_does_not_depend_on_token_borders_or_on_a_replay(
    pieces: list[str], stops: list[str], cut: int
) -> None:
    whole = "".join(pieces)
    match = first_stop(whole, stops)
    expected = whole if match is None else whole[: match.start]
    encoded = [piece.encode() for piece in pieces]
    assert "".join(texts(encoded, *stops)) == expected
    assert "".join(texts([bytes([byte]) for byte in whole.encode()], *stops)) == expected

    resumed = make_detokenizer(encoded, *stops)
    before = "".join(texts(encoded, *stops)[: min(cut, len(encoded))])
    for i in range(min(cut, len(encoded))):
        resumed.feed(i)
    after = "".join(resumed.feed(i).text for i in range(min(cut, len(encoded)), len(encoded)))
    assert before + after + resumed.flush().text == expected


@given(text=st.text("ab", max_size=8), stops=st.lists(st.text("ab", min_size=1, max_size=5), min_size=1))
def test_the_held_back_text_is_the_longest_prefix_of_a_stop_string(text: str, stops: list[str]) -> None:
    length = longest_stop_prefix(text, stops)
    fits = [n for n in range(len(text) + 1) if any(len(s) > n and s[:n] == text[len(text) - n :] for s in stops)]
    assert length == max(fits)

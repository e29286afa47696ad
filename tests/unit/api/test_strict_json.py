"""`decode_strictly` reads the same input as msgspec, to the same values, except for repeated names."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cactus_actors.api.strict_json import decode_strictly
from cactus_actors.protocol.errors import InvalidJSON

PIECES = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    '"a"',
    '"b"',
    '"\\ud83d"',
    '"\\ud83d\\ude00"',
    "1",
    "-0.0",
    "1e999",
    "NaN",
    "-Infinity",
    "null",
    "true",
    "0123",
    "1.5e3",
]
TEXTS = st.lists(
    st.sampled_from([*PIECES, " ", "\n", "1" * 30, "1" * 5000, '"\x01"', "\ufeff", "[" * 2000]), max_size=12
).map("".join)


def has_repeated_name(text: bytes) -> bool:
    try:
        decode_strictly(text, "it")
    except InvalidJSON as error:
        return "given twice" in error.message
    return False


@given(TEXTS | st.text(max_size=20))
def test_valid_json_is_read_as_by_msgspec(written: str) -> None:
    text = written.encode("utf-8", "surrogatepass")
    try:
        expected: Any = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        with pytest.raises(InvalidJSON, match=r"^it is (not|JSON that is not accepted: )"):
            decode_strictly(text, "it")
        return
    if not has_repeated_name(text):
        assert repr(decode_strictly(text, "it")) == repr(expected)


def test_a_syntax_error_is_reported_before_a_repeated_name() -> None:
    with pytest.raises(InvalidJSON, match="is not JSON"):
        decode_strictly(b'{"a": 1, "a": 2', "it")


@pytest.mark.parametrize("number", ["1e999", "-1e400"])
def test_a_number_beyond_the_range_of_floats_is_refused(number: str) -> None:
    assert math.isinf(float(number))
    with pytest.raises(InvalidJSON, match="out of range"):
        decode_strictly(b"[" + number.encode() + b"]", "it")

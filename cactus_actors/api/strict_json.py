"""Strict JSON (RFC 8259), which also refuses an object with a repeated name."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import msgspec

from cactus_actors.protocol.errors import InvalidJSON
from cactus_actors.protocol.syntax_reason import syntax_reason
from cactus_actors.protocol.type_mismatch import mismatch_of

MAX_DIGITS = 4300
"""The most digits of an integer that Python reads (sys.int_info.default_max_str_digits)."""

# a string, which is skipped, or a number
_NUMBER = re.compile(rb'"(?:[^"\\]|\\.)*+"|(?P<number>-?[0-9]+(?P<rest>(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?))', re.S)
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


def decode_strictly(text: bytes | bytearray, what: str) -> Any:
    """The value of a JSON text in UTF-8; raises InvalidJSON about `what`, with the position where it is known."""
    try:
        value = _STRICT.decode(text.decode())
    except (ValueError, RecursionError, InvalidJSON):
        return _explained(text, what)
    return _explained(text, what) if _SURROGATE.search(text) else value  # json decodes lone surrogates, too


def num_outside_strings(text: bytes | bytearray, signs: bytes) -> int:
    """The number of occurrences of the bytes `signs` in JSON outside strings.

    It is counted in short C calls, so that other threads can run in between.
    """
    without_escapes = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    kept = signs + b'"'
    parts = without_escapes.translate(None, delete=bytes(set(range(256)).difference(kept))).split(b'"')
    return sum(map(len, parts[::2]))


def _explained(text: bytes | bytearray, what: str) -> Any:
    """Decode with msgspec for its error messages, which take precedence over that of a repeated name."""
    try:
        value = msgspec.json.decode(text)
        _STRICT.decode(text.decode())
    except msgspec.ValidationError as error:
        reason = _number_out_of_range(text) or mismatch_of(error).message
        raise InvalidJSON(f"{what} is JSON that is not accepted: {reason}") from None
    except msgspec.DecodeError as error:
        raise InvalidJSON(f"{what} is not JSON: {_placed(syntax_reason(error), text)}") from None
    except UnicodeDecodeError as error:
        raise InvalidJSON(f"{what} is not UTF-8: {error.reason} (byte {_first_undecodable(text)})") from None
    except RecursionError:
        raise InvalidJSON(f"{what} is JSON that is not accepted: nested too deeply") from None
    except ValueError as error:  # of json: a number of thousands of digits
        reason = _number_out_of_range(text) or str(error)
        raise InvalidJSON(f"{what} is JSON that is not accepted: {reason}") from None
    return value


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise InvalidJSON(f"{twice[:64]!r} is given twice in one object", param=twice[:64])
    return fields


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError("a number is out of range")
    return number


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


_STRICT = json.JSONDecoder(object_pairs_hook=_distinct, parse_float=_finite, parse_constant=_refuse_constant)


def _placed(reason: str, text: bytes | bytearray) -> str:
    if "byte" in reason:
        return reason
    if not _is_cut(text) and (half := _SURROGATE.search(text)):
        return f"invalid Unicode: lone surrogate (byte {half.start()})"
    return f"{reason} (byte {len(text)})"


def _number_out_of_range(text: bytes | bytearray) -> str | None:
    """The position of the first number that is out of range for every decoder here."""
    for found in _NUMBER.finditer(text):
        number = found["number"]
        if number and (math.isinf(float(number)) if found["rest"] else len(number) > MAX_DIGITS):
            return f"a number is out of range (byte {found.start()})"
    return None


def _is_cut(text: bytes | bytearray) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return True
    return False


def _first_undecodable(text: bytes | bytearray) -> int:
    try:
        text.decode()
    except UnicodeDecodeError as error:
        return error.start
    return len(text)

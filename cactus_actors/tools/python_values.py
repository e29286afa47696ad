"""A streaming reader of Python's literals, with JSON's constants among them."""

from __future__ import annotations

import json
import math
import re
from ast import literal_eval

from cactus_actors.tools.pieces import Ended, Malformed
from cactus_actors.tools.streamed_text import Reading, StreamedText
from cactus_actors.tools.values import Notation, Write, characters, code_unit, inside

_CONSTANTS = {
    "True": "true", "False": "false", "None": "null", "true": "true", "false": "false", "null": "null",
}  # fmt: skip
_ESCAPES = {
    "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\n": "",
    "\\": "\\", "'": "'", '"': '"',
}  # fmt: skip
_NUM_DIGITS = {"x": 2, "u": 4, "U": 8}
_PLAIN = re.compile(r"[^'\"\\]*")


def _string(source: StreamedText, write: Write) -> Reading[bool]:
    """Read a string; adjacent strings are one."""
    is_string = False
    while (quote := (yield from source.peek())) and quote in "'\"":
        is_triple = yield from source.skip(quote * 3)
        if not is_triple:
            yield from source.expect(quote)
        if not is_string:
            write('"')
        is_string = True
        yield from _inside(source, write, quote * 3 if is_triple else quote)
        yield from source.skip_space()
    if is_string:
        write('"')
    return is_string


def _inside(source: StreamedText, write: Write, quote: str) -> Reading[None]:
    while True:
        write(inside(source.available(_PLAIN)))
        is_closed = yield from source.skip(quote)
        if is_closed:
            return
        character = yield from source.peek()
        if not character:
            raise Ended
        if character == "\\":
            yield from _escape(source, write)
        elif character in "'\"":
            yield from source.expect(character)
            write(inside(character))


def _escape(source: StreamedText, write: Write) -> Reading[None]:
    yield from source.expect("\\")
    kind = yield from characters(source, 1)
    if kind in _NUM_DIGITS:
        digits = yield from characters(source, _NUM_DIGITS[kind])
        code = code_unit(digits)
        if 0xD800 <= code < 0xE000 or code > 0x10FFFF:
            raise Malformed
        write(inside(chr(code)))
    elif kind in "01234567":
        while len(kind) < 3 and (digit := (yield from source.peek())) and digit in "01234567":
            yield from source.expect(digit)
            kind += digit
        write(inside(chr(int(kind, 8))))
    else:
        write(inside(_ESCAPES.get(kind, "\\" + kind)))


def _key(source: StreamedText, write: Write) -> Reading[None]:
    is_string = yield from _string(source, write)
    if not is_string:
        raise Malformed


def _scalar(text: str) -> str:
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    try:
        value = literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        raise Malformed from None
    if type(value) not in (int, float) or not math.isfinite(value):
        raise Malformed
    return json.dumps(value)


PYTHON = Notation("{[(", _string, _key, _scalar, is_loose=True)

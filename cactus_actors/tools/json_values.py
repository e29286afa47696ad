"""A streaming reader of JSON."""

from __future__ import annotations

import math
import re

from cactus_actors.tools.pieces import Ended, Malformed
from cactus_actors.tools.streamed_text import Reading, StreamedText
from cactus_actors.tools.values import Notation, Write, characters, code_unit, inside

_CONSTANTS = ("true", "false", "null")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_UNESCAPED = re.compile(r'[^"\\\x00-\x1f]*')


def json_scalar(text: str) -> str:
    """`text`, if it is a constant or a number that a float64 holds; raises Malformed."""
    if text in _CONSTANTS or (_NUMBER.fullmatch(text) and math.isfinite(float(text))):
        return text
    raise Malformed


def _string(source: StreamedText, write: Write) -> Reading[bool]:
    is_string = yield from source.starts_with('"')
    if is_string:
        yield from _key(source, write)
    return is_string


def _key(source: StreamedText, write: Write) -> Reading[None]:
    yield from source.expect('"')
    write('"')
    while True:
        write(source.available(_UNESCAPED))
        character = yield from source.peek()
        match character:
            case "":
                raise Ended
            case '"':
                break
            case "\\":
                yield from _escape(source, write)
            case _ if character < " ":  # not JSON, but models write code with it
                yield from source.expect(character)
                write(inside(character))
    yield from source.expect('"')
    write('"')


def _escape(source: StreamedText, write: Write) -> Reading[None]:
    """An escape of one character; of one beyond the 16 bits of `\\u` both halves."""
    yield from source.expect("\\")
    kind = yield from characters(source, 1)
    if kind not in '"\\/bfnrtu':
        raise Malformed
    if kind == "u":
        digits = yield from characters(source, 4)
        kind += digits
        unit = code_unit(digits)
        if 0xDC00 <= unit < 0xE000:
            raise Malformed
        if 0xD800 <= unit < 0xDC00:
            yield from source.expect("\\u")
            digits = yield from characters(source, 4)
            if not 0xDC00 <= code_unit(digits) < 0xE000:
                raise Malformed
            kind += "\\u" + digits
    write("\\" + kind)


JSON = Notation("{[", _string, _key, json_scalar)

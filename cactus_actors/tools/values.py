"""Reads values in several notations from a stream, and writes them as JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import NamedTuple

from cactus_actors.reasoning.marks import Marks
from cactus_actors.tools.pieces import MAX_DEPTH, Ended, Malformed
from cactus_actors.tools.streamed_text import Reading, StreamedText

Write = Callable[[str], None]

MAX_SCALAR = 400
_SCALAR = re.compile(r"[\w.+-]*")
_HEXADECIMAL = re.compile(r"[0-9a-fA-F]+")
_CLOSES = {"{": "}", "[": "]", "(": ")"}


class Notation(NamedTuple):
    """The notation of strings, property names and other scalars; brackets are the same in all notations."""

    opens: str
    string: Callable[[StreamedText, Write], Reading[bool]]
    """Reads a string if one is next; returns true if it was."""
    key: Callable[[StreamedText, Write], Reading[None]]
    scalar: Callable[[str], str]
    """The JSON of a scalar's text; raises Malformed."""
    is_loose: bool = False
    """True if a comma may follow the last item."""


def read_value(source: StreamedText, write: Write, notation: Notation, depth: int = 0) -> Reading[None]:
    """Read one value; raises Malformed, or Ended at the end of the text, after writing the part before."""
    is_string = yield from notation.string(source, write)
    if is_string:
        return
    first = yield from source.peek()
    if first and first in notation.opens:
        yield from source.expect(first)
        yield from read_items(source, write, notation, first, depth)
        return
    text = yield from source.run(_SCALAR, MAX_SCALAR)
    if not text and not first:
        raise Ended
    write(notation.scalar(text))


def read_items(source: StreamedText, write: Write, notation: Notation, bracket: str, depth: int = 0) -> Reading[None]:
    """Read the inside of an object or list, and the bracket that closes it; `bracket` opened it."""
    if depth >= MAX_DEPTH:
        raise Malformed
    write("{" if bracket == "{" else "[")
    num_items = 0
    is_closed = False
    while not is_closed:
        yield from source.skip_space()
        if num_items == 0 or notation.is_loose:
            is_closed = yield from source.skip(_CLOSES[bracket])
            if is_closed:
                break
        if num_items:
            write(",")
        if bracket == "{":
            yield from notation.key(source, write)
            yield from source.skip_space()
            yield from source.expect(":")
            write(":")
            yield from source.skip_space()
        yield from read_value(source, write, notation, depth + 1)
        num_items += 1
        yield from source.skip_space()
        is_closed = yield from source.skip(_CLOSES[bracket])
        if not is_closed:
            yield from source.expect(",")
    write("}" if bracket == "{" else "]")


def read_text(source: StreamedText, write: Write, close: Marks) -> Reading[None]:
    """Read text and the mark that closes it; writes it as the inside of a JSON string."""
    while True:
        text = yield from source.before(close)
        write(inside(text))
        for mark in close.literals:
            is_closed = yield from source.skip(mark)
            if is_closed:
                return
        if not text:
            raise Ended


def whole_value(text: str, notation: Notation) -> str:
    """The JSON of the value that is all of `text`; raises Malformed."""
    source = StreamedText()
    source.add(text.strip())
    source.end()
    parts: list[str] = []
    for _ in read_value(source, parts.append, notation):
        raise AssertionError("a reader waits for more of a text that has ended")
    if source.num_read < source.num_kept:
        raise Malformed
    return "".join(parts)


def characters(source: StreamedText, count: int) -> Reading[str]:
    """The next `count` characters."""
    text = ""
    for _ in range(count):
        character = yield from source.peek()
        if not character:
            raise Ended
        yield from source.expect(character)
        text += character
    return text


def code_unit(digits: str) -> int:
    """The number of an escape's hexadecimal digits."""
    if not _HEXADECIMAL.fullmatch(digits):
        raise Malformed
    return int(digits, 16)


def quoted(text: str) -> str:
    """`text` as JSON."""
    return json.dumps(text, ensure_ascii=False)


def inside(text: str) -> str:
    """`text` as the inside of a JSON string."""
    return quoted(text)[1:-1]

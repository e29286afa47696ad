"""Reads values between marks, with strings without quotes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from cactus_actors.reasoning.marks import Marks
from cactus_actors.tools.json_values import JSON
from cactus_actors.tools.pieces import Ended, Malformed
from cactus_actors.tools.python_values import PYTHON
from cactus_actors.tools.streamed_text import Reading, StreamedText
from cactus_actors.tools.tool_functions import Kind, admits
from cactus_actors.tools.values import Write, inside, quoted, read_value, whole_value


class ValueEnd(NamedTuple):
    """The end of a value: one of `close`, if one of `followers` or the end of the text follows."""

    close: Marks
    followers: Sequence[str]


def read_unquoted(
    source: StreamedText, write: Write, place: ValueEnd, kind: Kind, parameters: Any, argument: str
) -> Reading[None]:
    """Read a value and the mark after it.

    A string is emitted as it is read. Other values are read to their end first: each is JSON, a Python literal, or
    else a string.
    """
    if kind == "text":
        write('"')
        yield from _read_text(source, lambda text: write(inside(text)), place)
        write('"')
        return
    start = source.num_read
    value = yield from _read_json(source, place)
    if not value or (kind == "either" and not admits(parameters, argument, json.loads(value))):
        source.go_back(start)
        parts: list[str] = []
        yield from _read_text(source, parts.append, place)
        text = "".join(parts)
        value = _literal(text) if kind == "json" else quoted(text)
    write(value)


def _read_text(source: StreamedText, write: Write, place: ValueEnd) -> Reading[None]:
    while True:
        write((yield from source.before(place.close)))
        closed = ""
        for mark in place.close.literals:
            if not closed and (yield from source.skip(mark)):
                closed = mark
        if closed and (yield from source.comes_spaced(place.followers)):
            return
        write(closed)
        if not closed and not (yield from source.peek()):
            raise Ended


def _read_json(source: StreamedText, place: ValueEnd) -> Reading[str]:
    """The JSON value before the mark, which is read too; empty if there is none."""
    parts: list[str] = []
    try:
        yield from source.skip_space()
        yield from read_value(source, parts.append, JSON)
        for mark in place.close.literals:
            if (yield from source.skip_spaced(mark.strip())):
                return "".join(parts)
    except Malformed:
        pass
    return ""


def _literal(text: str) -> str:
    try:
        return whole_value(text, PYTHON)
    except Malformed:
        return quoted(text)

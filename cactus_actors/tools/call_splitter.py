"""Splits a completion into its text and the tool calls in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from cactus_actors.protocol.results import IncompleteCall, ToolCall
from cactus_actors.reasoning.marks import Marks
from cactus_actors.tools.call_writer import CallWriter
from cactus_actors.tools.form import Form
from cactus_actors.tools.markup_table import markup_named
from cactus_actors.tools.pieces import MAX_HEAD, MAX_REREAD, Malformed, Piece
from cactus_actors.tools.streamed_text import Reading, StreamedText
from cactus_actors.tools.tool_functions import parameters_by_name

Tools = Sequence[Mapping[str, Any]]


class ParsedText(msgspec.Struct, frozen=True):
    """The text around the calls, the calls, and the incomplete ones, in order."""

    text: str
    calls: list[ToolCall] = []
    incomplete_calls: list[IncompleteCall] = []

    def first_call(self) -> ParsedText:
        """The text and only the first of its calls."""
        incomplete = [call for call in self.incomplete_calls if call.index == 0]
        return ParsedText(self.text, [] if incomplete else self.calls[:1], incomplete)


def parse_calls(markup: str, text: str, tools: Tools | None = None) -> ParsedText:
    """The calls of `tools` in `text`, or of any where `tools` is None; never raises.

    `markup` is a name in MARKUPS. A malformed call whose arguments have not begun, a call beyond the limits, or one
    of an unknown tool stays text. White space before a call is dropped, and also around a text that consists of
    calls.
    """
    splitter = CallSplitter(markup, tools)
    pieces = splitter.feed(text) + splitter.finish()
    return ParsedText(
        "".join(piece for piece in pieces if isinstance(piece, str)),
        [piece for piece in pieces if isinstance(piece, ToolCall)],
        [piece for piece in pieces if isinstance(piece, IncompleteCall)],
    )


class CallSplitter:
    """`parse_calls` of a text that arrives in chunks: the joined pieces do not depend on the chunks.

    Text is emitted once it is known to be text, a call once its arguments begin, and arguments as they arrive: no
    piece is ever revoked. White space is held back until something follows it.
    """

    def __init__(self, markup: str, tools: Tools | None = None) -> None:
        self._markup = markup_named(markup)
        self._forms = [(form.mark, form) for form in self._markup.forms if form.mark]
        self._marks = Marks([mark for mark, _ in self._forms] + list(self._markup.hidden))
        self._source = StreamedText()
        self._calls = CallWriter(self._source, None if tools is None else parameters_by_name(tools))
        self._pieces: list[Piece] = []
        self._spaces = ""
        self._has_text = False
        self._num_reread = 0
        self._is_trying = False
        self._has_finished = False
        self._reading = self._read()

    def feed(self, text: str) -> list[Piece]:
        """The pieces that are certain after `text`."""
        self._source.add(text)
        self._go_on()
        return self._taken()

    def finish(self) -> list[Piece]:
        """The rest, at the end of the text."""
        self._source.end()
        self._go_on()
        if self._spaces and not self._calls.num_calls:
            self._pieces.append(self._spaces)
        self._spaces = ""
        return self._taken()

    def _go_on(self) -> None:
        if self._has_finished:
            return
        try:
            next(self._reading)
            while self._is_trying and not self._calls.is_open and self._source.num_kept > 2 * MAX_HEAD:
                self._reading.throw(Malformed())
        except StopIteration:
            self._has_finished = True

    def _taken(self) -> list[Piece]:
        pieces, self._pieces = self._pieces + self._calls.taken(), []
        return pieces

    def _read(self) -> Reading[None]:
        yield from self._source.skip_space()
        for text in self._markup.hidden_first:
            if (yield from self._source.skip(text)):
                self._source.drop()
        self._source.go_back(0)
        yield from self._try(self._markup.bare)
        while True:
            self._show((yield from self._source.before(self._marks)))
            self._source.drop()
            mark = yield from self._mark_here()
            if not mark:
                if not (yield from self._source.peek()):
                    return
                continue
            is_call = yield from self._try([form for text, form in self._forms if text == mark])
            if not is_call:
                text = self._source.take(len(mark))
                self._source.drop()
                self._show("" if mark in self._markup.hidden else text)

    def _mark_here(self) -> Reading[str]:
        """The longest mark at this position; empty if there is none."""
        for mark in self._marks.literals:
            if (yield from self._source.starts_with(mark)):
                return mark
        return ""

    def _try(self, forms: Sequence[Form]) -> Reading[bool]:
        """Read calls in one of `forms`; returns False, and reads nothing, if there are none."""
        for form in forms:
            if self._num_reread > MAX_REREAD:
                return False
            num_before = self._calls.num_calls
            self._is_trying = True
            try:
                yield from form.read(self._source, self._calls)
            except Malformed:
                if self._calls.is_open:
                    self._calls.break_off()
            self._is_trying = False
            self._pieces += self._calls.taken()
            if self._calls.num_calls > num_before:
                self._spaces = ""
                return True
            self._num_reread += min(self._source.num_read, MAX_HEAD)
            self._source.go_back(0)
        return False

    def _show(self, text: str) -> None:
        text = self._spaces + text
        shown = text.rstrip()
        self._spaces = text[len(shown) :]
        if not shown:
            return
        if self._calls.num_calls and not self._has_text:
            shown = shown.lstrip()
        self._pieces.append(shown)
        self._has_text = True

"""A completion apart: the text to show, and the tool calls in it."""

from __future__ import annotations

import re
from typing import Literal

from cactus_actors.protocol.results import ToolCall
from cactus_actors.tools.bodies import MAX_CHARACTERS, Malformed, ValueScan, calls_in, named_call
from cactus_actors.tools.markup import Block, Opening, markup_named

Piece = str | ToolCall

MAX_REFUSED = 64
"""Values that turn out to be no calls; behind so many everything is text, since each is read to its end."""

_BARE = Block("")
_BETWEEN = re.compile(r"\s*[;,]?\s*")


def parse_calls(markup: str, text: str) -> tuple[str, list[ToolCall]]:
    """The text around the calls in `text`, and the calls in order; never raises.

    `markup` is a name in MARKUPS. What looks like a call and is malformed, broken off or out of bounds stays
    text. White space before a call is dropped, and so is what surrounds a text that is otherwise only calls.
    """
    splitter = Splitter(markup)
    pieces = splitter.feed(text) + splitter.finish()
    shown = "".join(piece for piece in pieces if isinstance(piece, str))
    return shown, [piece for piece in pieces if isinstance(piece, ToolCall)]


class Splitter:
    """`parse_calls` of a text that arrives in chunks: the pieces, joined, do not depend on where it was cut.

    A piece is text that is safe to show or a whole call. A call is told when it is complete and not before,
    because one that breaks off stays text, and what was told is never taken back. White space is held back
    until something follows it.
    """

    def __init__(self, markup: str) -> None:
        self._markup = markup_named(markup)
        self._marker = re.compile("|".join(re.escape(block.open) for block in self._markup.blocks))
        self._held = ""
        self._spaces = ""
        self._has_text = False
        self._has_calls = False
        # A text begins as the body of a block without marks; then it is "text", "body" of a block, or what
        # comes "after" a call in one.
        self._state: Literal["text", "body", "after"] = "body"
        self._block = _BARE
        self._body_at = 0  # in _held: before it stands what is text if the body is malformed
        self._scan: ValueScan | None = None
        self._num_refused = 0
        self._pieces: list[Piece] = []

    def feed(self, text: str) -> list[Piece]:
        """What is certain now that `text` has come."""
        self._held += text
        while self._advance():
            pass
        return self._taken()

    def finish(self) -> list[Piece]:
        """The rest, when the text has ended."""
        while self._held:
            if self._state == "body":
                self._refuse()
            elif self._state == "after":
                self._state = "text"
            else:
                self._show(len(self._held))
            while self._advance():
                pass
        if self._spaces and not self._has_calls:
            self._pieces.append(self._spaces)
        self._spaces = ""
        return self._taken()

    def _taken(self) -> list[Piece]:
        pieces, self._pieces = self._pieces, []
        return pieces

    def _advance(self) -> bool:
        """One change of state, if what is held allows one."""
        if not self._held:
            return False
        match self._state:
            case "text":
                return self._find_block()
            case "body":
                try:
                    return self._read_body()
                except Malformed:
                    self._refuse()
                    return True
            case "after":
                return self._go_on()

    def _find_block(self) -> bool:
        if self._num_refused >= MAX_REFUSED:
            self._show(len(self._held))
            return False
        match = self._marker.search(self._held)
        if match is None:
            self._show(len(self._held) - self._unfinished_marker())
            return False
        self._show(match.start())
        self._block = next(block for block in self._markup.blocks if block.open == match[0])
        self._enter_body(len(match[0]))
        return True

    def _unfinished_marker(self) -> int:
        """Length of the longest end of what is held that may be the beginning of a marker."""
        longest = max(len(block.open) for block in self._markup.blocks) - 1
        for length in range(min(longest, len(self._held)), 0, -1):
            if any(block.open.startswith(self._held[-length:]) for block in self._markup.blocks):
                return length
        return 0

    def _enter_body(self, at: int) -> None:
        self._state, self._body_at, self._scan = "body", at, None

    def _read_body(self) -> bool:
        match = self._opening.begun.match(self._held, self._body_at)
        if match is None:
            is_possible = self._opening.may_begin.fullmatch(self._held, self._body_at)
            if not is_possible or len(self._held) - self._body_at > MAX_CHARACTERS:
                raise Malformed
            return False
        if match.end() - self._body_at > MAX_CHARACTERS:
            raise Malformed
        groups = match.groupdict()
        kind = "value" if groups["value"] is not None else "arguments"
        if self._scan is None:
            self._scan = ValueScan(match.start(kind))
        end = self._scan.end_in(self._held)
        if end is None:
            return False
        value = self._held[match.start(kind) : end]
        self._tell([named_call(groups["name"], value)] if kind == "arguments" else calls_in(value))
        self._held = self._held[end:]
        self._state = "after"
        return True

    @property
    def _opening(self) -> Opening:
        return self._markup.bare if self._block is _BARE else self._markup.opening

    def _refuse(self) -> None:
        """Nothing in this block is a call: its mark is text, and what follows may hold another block."""
        self._num_refused += self._scan is not None
        self._scan = None
        self._show(self._body_at)
        self._state = "text"

    def _go_on(self) -> bool:
        """After a call: the mark that ends its block, another call, or neither."""
        close = self._block.close
        match = _BETWEEN.match(self._held)
        assert match is not None
        rest = self._held[match.end() :]
        if match.end() > MAX_CHARACTERS:
            self._state = "text"
        elif close and rest.startswith(close) and not match[0].strip():
            self._held = rest[len(close) :]
            self._state = "text"
        elif not rest or (close and close.startswith(rest)):
            return False
        else:
            self._enter_body(match.end())
        return True

    def _tell(self, calls: list[ToolCall]) -> None:
        self._pieces += calls
        self._has_calls = True
        self._spaces = ""

    def _show(self, length: int) -> None:
        text = self._spaces + self._held[:length]
        self._held = self._held[length:]
        shown = text.rstrip()
        self._spaces = text[len(shown) :]
        if not shown:
            return
        if self._has_calls and not self._has_text:
            shown = shown.lstrip()
        self._pieces.append(shown)
        self._has_text = True

"""Collects the pieces of calls from their parsers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from cactus_actors.protocol.results import IncompleteCall, ToolCall
from cactus_actors.tools.pieces import (
    MAX_ARGUMENTS,
    MAX_CALLS,
    MAX_HEAD,
    ArgumentsText,
    CallBegun,
    Malformed,
    Piece,
)
from cactus_actors.tools.streamed_text import StreamedText

_MANY = 1 << 12
"""The number of read characters after which the text is dropped."""


class CallWriter:
    """Collects the calls read from `source`, each begun, written and ended.

    `offered` maps the names of tools to the schemas of their arguments; None accepts every name. A call that has
    begun is never revoked: one with truncated arguments, or with values that cannot be encoded, is an
    IncompleteCall. `is_open` is true while a call has begun and not ended.
    """

    def __init__(self, source: StreamedText, offered: Mapping[str, Any] | None) -> None:
        self._source = source
        self._offered = offered
        self.num_calls = 0
        self._name = ""
        self._arguments: list[str] = []
        self._length = 0
        self.is_open = False
        self._pieces: list[Piece] = []

    def is_offered(self, name: str) -> bool:
        return bool(name) and (self._offered is None or name in self._offered)

    def parameters(self, name: str) -> Any:
        """The schema of the arguments of `name`, None if unknown."""
        return None if self._offered is None else self._offered.get(name)

    def begin(self, name: str) -> None:
        """Begin a call; raises Malformed if no such tool is offered, or there are too many calls."""
        is_far = self._source.num_read > MAX_HEAD
        if not self.is_offered(name) or is_far or self.num_calls >= MAX_CALLS:
            raise Malformed
        self._source.drop()
        self.num_calls += 1
        self._name, self._arguments, self._length, self.is_open = name, [], 0, True
        self._pieces.append(CallBegun(name))

    def write(self, text: str) -> None:
        """More of the JSON text of the arguments; raises Malformed beyond the limit."""
        if not text:
            return
        if self._source.num_read > _MANY:
            self._source.drop()
        self._length += len(text)
        if self._length > MAX_ARGUMENTS:
            raise Malformed
        self._arguments.append(text)
        last = self._pieces[-1] if self._pieces else None
        if isinstance(last, ArgumentsText):
            self._pieces[-1] = ArgumentsText(last.text + text)
        else:
            self._pieces.append(ArgumentsText(text))

    def finish(self) -> None:
        """End the call: its arguments are complete."""
        text = "".join(self._arguments)
        self.is_open = False
        self._source.drop()
        try:
            call = ToolCall(self._name, msgspec.json.decode(text, type=dict[str, Any]))
            msgspec.msgpack.encode(call)  # no integer beyond 64 bits
        except (msgspec.DecodeError, OverflowError, UnicodeEncodeError, RecursionError):
            self._pieces.append(IncompleteCall(self.num_calls - 1, self._name, text))
        else:
            self._pieces.append(call)

    def settle(self) -> None:
        """Count text that was read after a call as part of it."""
        self._source.drop()

    def break_off(self) -> None:
        """End the call at the end of the text, within its arguments."""
        self.is_open = False
        self._source.drop()
        text = "".join(self._arguments)
        self._pieces.append(IncompleteCall(self.num_calls - 1, self._name, text))

    def taken(self) -> list[Piece]:
        """The pieces since the last call."""
        pieces, self._pieces = self._pieces, []
        return pieces

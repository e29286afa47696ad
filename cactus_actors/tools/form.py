"""The form of calls in a text: the marks around them, and the notation inside."""

from __future__ import annotations

import msgspec

from cactus_actors.tools.call_writer import CallWriter
from cactus_actors.tools.gemma_body import GemmaBody
from cactus_actors.tools.grammar_builder import escaped
from cactus_actors.tools.json_body import JsonBody
from cactus_actors.tools.named_body import NamedBody
from cactus_actors.tools.parameter_body import ParameterBody
from cactus_actors.tools.pieces import Malformed
from cactus_actors.tools.python_body import PythonBody
from cactus_actors.tools.streamed_text import Reading, StreamedText

Body = JsonBody | NamedBody | ParameterBody | PythonBody | GemmaBody

_SEPARATORS = (",", ";")


class Form(msgspec.Struct, frozen=True, kw_only=True):
    """One way to write calls: `open`, for each `begin`, `body` and `end`, with `separator`s, and `close`.

    Marks may have several pieces. In parsing, white space around them is ignored, and those after a call may be
    missing.
    """

    body: Body
    open: tuple[str, ...] = ()
    begin: str = ""
    end: str = ""
    separator: str = ""
    close: tuple[str, ...] = ()

    @property
    def mark(self) -> str:
        """The mark to search for; empty for calls that begin without any mark."""
        if self.open or self.begin:
            return (self.open[0] if self.open else self.begin).strip()
        return self.body.before if isinstance(self.body, NamedBody | ParameterBody) else ""

    @property
    def opening(self) -> str:
        """An expression, between slashes, for the start of a call in this form."""
        mark = escaped(self.mark)
        return mark if len(self.mark) > 1 else rf"{mark}\s*{self.body.opening}"

    @property
    def literals(self) -> tuple[str, ...]:
        """Texts that may be control tokens, or have some in them."""
        return (*self.open, self.begin, *self.body.literals, self.end, self.separator, *self.close)

    def read(self, source: StreamedText, calls: CallWriter) -> Reading[None]:
        """Read calls that begin here; raises Malformed if the first is invalid, or if one is incomplete."""
        num_before = calls.num_calls
        for piece in self.open:
            yield from source.skip_space()
            yield from source.expect(piece.strip())
        try:
            yield from self._read_call(source, calls, is_first=True)
            while not (yield from self._read_close(source, calls)):
                for separator in _SEPARATORS:
                    if (yield from source.skip_spaced(separator)):
                        break
                yield from self._read_call(source, calls, is_first=False)
        except Malformed:
            if calls.is_open or calls.num_calls == num_before:
                raise
            source.go_back(0)  # to the end of the last call

    def _read_call(self, source: StreamedText, calls: CallWriter, *, is_first: bool) -> Reading[None]:
        """Read one call; objects of JSON may follow one another without marks between them."""
        yield from source.skip_space()
        has_begun = yield from source.skip(self.begin.strip())
        if not has_begun and (is_first or not isinstance(self.body, JsonBody)):
            raise Malformed
        yield from source.skip_space()
        yield from self.body.read(source, calls)
        if self.end.strip():
            yield from source.skip_spaced(self.end.strip())
        calls.settle()

    def _read_close(self, source: StreamedText, calls: CallWriter) -> Reading[bool]:
        """Read the marks after all calls, as far as they follow; returns true if the first one does."""
        is_closed = False
        for piece in self.close:
            if not (yield from source.skip_spaced(piece.strip())):
                break
            is_closed = True
            calls.settle()
        return is_closed

"""Calls as a name and a JSON object of arguments."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import msgspec

from cactus_actors.protocol.results import ToolCall
from cactus_actors.tools.call_writer import CallWriter
from cactus_actors.tools.grammar_builder import GrammarBuilder, escaped
from cactus_actors.tools.json_values import JSON
from cactus_actors.tools.pieces import Malformed
from cactus_actors.tools.streamed_text import Reading, StreamedText
from cactus_actors.tools.tool_functions import Function
from cactus_actors.tools.values import read_value

NAME = re.compile(r"[^\s<>()\[\]{}\"',;=]*")
MAX_NAME = 128
_MAX_HEADER = 256
_LABEL = re.compile(r"[\w.-]*")
BETWEEN_TAGS = re.compile(r"(?<=>)\s*(?=<)")


class NamedBody(msgspec.Struct, frozen=True, kw_only=True):
    """A call as `label`, `before`, its name, `header`, `mark`, a JSON object and `after`.

    A label is any word, such as an id or the name of a server. In parsing, the header may be any match of
    `may_stand`, and a match of `number` is not part of the name; white space around marks is ignored, and `after`
    may be missing.
    """

    mark: str
    label: str = ""
    before: str = ""
    header: str = ""
    may_stand: str = ""
    number: str = ""
    after: str = ""

    @property
    def literals(self) -> tuple[str, ...]:
        return (self.before, self.header + self.mark, self.after)

    @property
    def opening(self) -> str:
        """An expression, between slashes, for the start of a call."""
        return rf"[\w.-]+\s*{escaped(self.mark.strip())}\s*\{{"

    def read(self, source: StreamedText, calls: CallWriter) -> Reading[None]:
        """Read one call; raises Malformed."""
        if self.label:
            yield from source.run(_LABEL, MAX_NAME)
        yield from _expect_pieces(source, self.before)
        yield from source.skip_space()
        name = yield from source.run(NAME, MAX_NAME)
        without_number = re.sub(f"(?:{self.number})$", "", name) if self.number else name
        name = without_number if calls.is_offered(without_number) else name
        if not calls.is_offered(name):
            raise Malformed
        mark = self.mark.strip() or self.mark
        if self.may_stand:
            header = yield from source.until(mark, _MAX_HEADER)
            if not re.fullmatch(self.may_stand, header.strip()):
                raise Malformed
        elif not (yield from source.skip(mark)):
            yield from _expect_pieces(source, mark)
        yield from source.skip_space()
        if (yield from source.peek()) not in ("{", ""):
            raise Malformed
        yield from source.expect_more()
        calls.begin(name)
        yield from read_value(source, calls.write, JSON)
        calls.finish()
        if self.after:
            yield from source.skip_spaced(self.after.strip())
        calls.settle()

    def write(self, call: ToolCall, _parameters: Any) -> str:
        """The call as text that is parsed as the same call."""
        arguments = json.dumps(call.arguments, ensure_ascii=False)
        return f"{self.label}{self.before}{call.name}{self.header}{self.mark}{arguments}{self.after}"

    def can_write(self, function: Function, _grammar: GrammarBuilder) -> bool:
        """True if every call of `function` can be written in this form."""
        return NAME.fullmatch(function.name) is not None

    def rule(self, functions: Sequence[Function], grammar: GrammarBuilder) -> str:
        """The terms of a rule for one call of one of `functions`."""
        label = "/[a-z0-9_-]{1,40}/ " if self.label else ""
        calls = [f"{label}{grammar.literal(self._head(one))} {self._rest(one, grammar)}" for one in functions]
        return grammar.rule(" | ".join(calls))

    def parts(self, function: Function, grammar: GrammarBuilder) -> tuple[str, str]:
        """An expression for a call up to its arguments, and the terms of the rest."""
        return escaped(self._head(function)), self._rest(function, grammar)

    def _head(self, function: Function) -> str:
        return f"{self.before}{function.name}{self.header}{self.mark}"

    def _rest(self, function: Function, grammar: GrammarBuilder) -> str:
        return f"{grammar.json(function.parameters)} {grammar.literal(self.after)}"


def _expect_pieces(source: StreamedText, mark: str) -> Reading[None]:
    """Read a mark of one or several tags; raises Malformed."""
    for piece in BETWEEN_TAGS.split(mark):
        if not (yield from source.skip(piece)):
            yield from source.skip_space()
            yield from source.expect(piece)

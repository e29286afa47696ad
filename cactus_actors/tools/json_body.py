"""Calls as JSON objects."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec

from cactus_actors.protocol.results import ToolCall
from cactus_actors.tools.call_writer import CallWriter
from cactus_actors.tools.grammar_builder import GrammarBuilder, escaped
from cactus_actors.tools.json_values import JSON
from cactus_actors.tools.pieces import Ended, Malformed
from cactus_actors.tools.streamed_text import Reading, StreamedText
from cactus_actors.tools.tool_functions import Function
from cactus_actors.tools.values import quoted, read_value, whole_value

_NAMES = ("name", "tool_name")
_ARGUMENTS = ("arguments", "parameters")
_FIRST_KEYS = (*_NAMES, *_ARGUMENTS, "function", "type", "id", "tool_call_id")


class JsonBody(msgspec.Struct, frozen=True, kw_only=True):
    """A call as `{name_key: ..., arguments_key: {...}}`, or `{name: {...}}` where `is_named_by_key`.

    In parsing, keys may be those of any family, in any order, arguments may be the text of an object, and the call
    may be inside `function`; several calls may be in a list.
    """

    name_key: str = "name"
    arguments_key: str = "arguments"
    is_named_by_key: bool = False

    literals: ClassVar[tuple[str, ...]] = ()

    @property
    def opening(self) -> str:
        """An expression, between slashes, for the start of a call."""
        return rf"(\[\s*)?\{{\s*\"({'|'.join(_FIRST_KEYS)})\""

    def read(self, source: StreamedText, calls: CallWriter) -> Reading[None]:
        """Read one object or a list of them; raises Malformed."""
        is_list = yield from source.skip("[")
        if not is_list:
            yield from self._read_object(source, calls)
            return
        is_closed = False
        while not is_closed:
            yield from source.skip_space()
            yield from self._read_object(source, calls)
            yield from source.skip_space()
            is_closed = yield from source.skip("]")
            calls.settle()
            if not is_closed:
                yield from source.expect(",")

    def _read_object(self, source: StreamedText, calls: CallWriter, *, is_inner: bool = False) -> Reading[None]:
        """Read one object; members after the arguments are skipped, and may be missing at the end."""
        name, arguments, key = "", "", ""
        num_before = calls.num_calls
        yield from source.expect("{")
        try:
            while True:
                is_first = not key
                yield from source.skip_space()
                key = yield from _captured_text(source)
                is_name = is_first and self.is_named_by_key and calls.is_offered(key)
                if is_first and not is_name and key not in _FIRST_KEYS:
                    raise Malformed
                yield from source.skip_space()
                yield from source.expect(":")
                yield from source.skip_space()
                begins = yield from source.peek()
                name = key if is_name else name
                if is_name or key in _ARGUMENTS:
                    if begins == "{" and name and calls.num_calls == num_before:
                        calls.begin(name)
                        yield from read_value(source, calls.write, JSON)
                        calls.finish()
                    else:
                        arguments = yield from _captured(source)
                elif key == "function" and begins == "{" and not is_inner:
                    yield from self._read_object(source, calls, is_inner=True)
                elif key in (*_NAMES, "function") and begins == '"':
                    name = yield from _captured_text(source)
                    if not calls.is_offered(name):
                        raise Malformed
                else:
                    yield from _captured(source)
                yield from source.skip_space()
                if (yield from source.skip("}")):
                    break
                yield from source.expect(",")
        except Ended:
            if calls.is_open or calls.num_calls == num_before:
                raise
        if calls.num_calls == num_before:
            _write_call(calls, name, arguments)
        calls.settle()

    def write(self, call: ToolCall, _parameters: Any) -> str:
        """The call as text that is parsed as the same call."""
        if self.is_named_by_key:
            return json.dumps({call.name: call.arguments}, ensure_ascii=False)
        return json.dumps({self.name_key: call.name, self.arguments_key: call.arguments}, ensure_ascii=False)

    def can_write(self, _function: Function, _grammar: GrammarBuilder) -> bool:
        """True: every call can be written in this form."""
        return True

    def rule(self, functions: Sequence[Function], grammar: GrammarBuilder) -> str:
        """The terms of a rule for one call of one of `functions`, or of any if there are none.

        The arguments are a grammar of their own, so that a schema's references are within it.
        """
        calls = [self._call(quoted(one.name), one.parameters, grammar) for one in functions]
        return grammar.rule(" | ".join(calls or [self._call(None, {"type": "object"}, grammar)]))

    def parts(self, function: Function, grammar: GrammarBuilder) -> tuple[str, str]:
        """An expression for a call up to its arguments, and the terms of the rest."""
        head = self._head(quoted(function.name)).removesuffix(" ?")
        return head, f"/ ?/ {grammar.json(function.parameters)} / ?\\}}/"

    def _call(self, name: str | None, schema: Any, grammar: GrammarBuilder) -> str:
        return f"/{self._head(name)}/ {grammar.json(schema)} / ?\\}}/"

    def _head(self, name: str | None) -> str:
        """An expression for a call up to its arguments."""
        written = r'"([^"\\\x00-\x1f]|\\["\\])+"' if name is None else escaped(name)
        if self.is_named_by_key:
            return rf"\{{ ?{written}: ?"
        return rf'\{{ ?"{self.name_key}": ?{written}, ?"{self.arguments_key}": ?'


def _captured(source: StreamedText) -> Reading[str]:
    """The JSON text of the next value."""
    parts: list[str] = []
    yield from read_value(source, parts.append, JSON)
    return "".join(parts)


def _captured_text(source: StreamedText) -> Reading[str]:
    """The next value, a string."""
    parts: list[str] = []
    is_string = yield from JSON.string(source, parts.append)
    if not is_string:
        raise Malformed
    text: str = json.loads("".join(parts))
    return text


def _write_call(calls: CallWriter, name: str, arguments: str) -> None:
    """Emit a call whose arguments came before its name, or as the text of an object."""
    if arguments.startswith('"'):
        arguments = whole_value(json.loads(arguments), JSON)
    if not arguments.startswith("{"):
        raise Malformed
    calls.begin(name)
    calls.write(arguments)
    calls.finish()

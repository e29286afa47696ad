"""Calls of Gemma models with control tokens for calls."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import msgspec

from cactus_actors.protocol.results import ToolCall
from cactus_actors.reasoning.marks import Marks
from cactus_actors.tools.call_writer import CallWriter
from cactus_actors.tools.grammar_builder import GrammarBuilder
from cactus_actors.tools.json_values import json_scalar
from cactus_actors.tools.named_body import MAX_NAME, NAME
from cactus_actors.tools.streamed_text import Reading, StreamedText
from cactus_actors.tools.tool_functions import Argument, Function
from cactus_actors.tools.values import MAX_SCALAR, Notation, Write, quoted, read_items, read_text

_NOTES = {"title", "description", "default", "examples"}
_KEY = re.compile(r"[^:{}\[\],<>]*")


class GemmaBody(msgspec.Struct, frozen=True, kw_only=True):
    """A call as `call:name{argument:value,...}`: names bare, strings between two of `quote`."""

    quote: str

    @property
    def literals(self) -> tuple[str, ...]:
        return (self.quote,)

    @property
    def opening(self) -> str:
        """An expression, between slashes, for the start of a call."""
        return "call:"

    def read(self, source: StreamedText, calls: CallWriter) -> Reading[None]:
        """Read one call; raises Malformed."""
        yield from source.expect("call:")
        name = yield from source.run(NAME, MAX_NAME)
        yield from source.expect("{")
        calls.begin(name)
        notation = Notation("{[", self._read_string, self._read_key, json_scalar)
        yield from read_items(source, calls.write, notation, "{")
        calls.finish()

    def _read_string(self, source: StreamedText, write: Write) -> Reading[bool]:
        is_string = yield from source.skip(self.quote)
        if is_string:
            write('"')
            yield from read_text(source, write, Marks([self.quote]))
            write('"')
        return is_string

    def _read_key(self, source: StreamedText, write: Write) -> Reading[None]:
        is_string = yield from self._read_string(source, write)
        if not is_string:
            name = yield from source.run(_KEY, MAX_SCALAR)
            write(quoted(name.strip()))

    def write(self, call: ToolCall, _parameters: Any) -> str:
        """The call as text that is read as it, unless a string has `quote` in it, or a name marks."""
        return f"call:{call.name}{self._written(call.arguments)}"

    def _written(self, value: Any) -> str:
        match value:
            case str():
                return f"{self.quote}{value}{self.quote}"
            case list():
                return f"[{','.join(map(self._written, value))}]"
            case dict():
                return f"{{{','.join(f'{key}:{self._written(one)}' for key, one in value.items())}}}"
        return json.dumps(value)

    def can_write(self, function: Function, grammar: GrammarBuilder) -> bool:
        """True if every call of `function` can be written in this form."""
        return bool(NAME.fullmatch(function.name)) and self._object(function.arguments, grammar) is not None

    def rule(self, functions: Sequence[Function], grammar: GrammarBuilder) -> str:
        """The terms of a rule for one call of one of `functions`."""
        calls = [f"{json.dumps(f'call:{one.name}')} {self._object(one.arguments, grammar)}" for one in functions]
        return grammar.rule(" | ".join(calls))

    def _object(self, arguments: Sequence[Argument] | None, grammar: GrammarBuilder) -> str | None:
        """The terms of an object; None for one that this notation cannot enforce."""
        if arguments is None or not all(re.fullmatch(r"[\w.-]+", one.name) for one in arguments):
            return None
        terms = []
        for one in arguments:
            value = self._value_rule(one.schema, grammar)
            if value is None:
                return None
            terms.append(f"{json.dumps(f'{one.name}:')} {value}")
        inside = grammar.sequence(terms, [one.is_required for one in arguments], '","')
        return f'"{{" {inside} "}}"'

    def _value_rule(self, schema: Any, grammar: GrammarBuilder) -> str | None:
        match schema:
            case {"type": "string", "enum": [*values]} if all(isinstance(one, str) for one in values):
                return f"({' | '.join(grammar.literal(self._written(one)) for one in values)})"
            case {"type": "string"} if not schema.keys() - {"type", *_NOTES}:
                return f"{grammar.literal(self.quote)} {grammar.text('.*', self.quote)}"
            case {"type": "integer" | "number" | "boolean" | "null"}:
                return grammar.json(schema)
            case {"type": "array", "items": dict(items)} if not schema.keys() - {"type", "items", *_NOTES}:
                item = self._value_rule(items, grammar)
                return item and f'"[" ({item} ("," {item})*)? "]"'
            case {"type": "object"}:
                return self._object(Function("", schema).arguments, grammar)
        return None

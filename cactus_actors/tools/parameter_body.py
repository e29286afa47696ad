"""Calls as a name and arguments between marks, strings without quotes."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from cactus_actors.protocol.results import ToolCall
from cactus_actors.reasoning.marks import Marks
from cactus_actors.tools.call_writer import CallWriter
from cactus_actors.tools.grammar_builder import GrammarBuilder, escaped
from cactus_actors.tools.named_body import BETWEEN_TAGS, MAX_NAME, NAME
from cactus_actors.tools.pieces import Ended, Malformed
from cactus_actors.tools.streamed_text import Reading, StreamedText
from cactus_actors.tools.tool_functions import Argument, Function, Kind, admits, kind_of
from cactus_actors.tools.unquoted_values import ValueEnd, read_unquoted
from cactus_actors.tools.values import quoted, read_text

TYPED = "{typed}"
"""A placeholder in `key_end`: `true` if the value is a string, `false` if it is JSON."""

_MAX_KEY = 512
_TYPE = re.compile(r'string="(true|false)"')
_CDATA, _CDATA_END = "<![CDATA[", "]]>"
_OF_TEXT = {
    "type", "title", "description", "default", "examples", "minLength", "maxLength", "$defs", "definitions",
}  # fmt: skip
"""Keywords that are enforced on strings without quotes."""


class ParameterBody(msgspec.Struct, frozen=True, kw_only=True):
    """A call as `before`, its name, `mark`, arguments and `after`; `gap` follows the mark and the arguments.

    An argument is `key`, its name, `key_end`, its value and `value_end`; values are on lines of their own, or may
    be in parsing. The schema of the arguments determines which are strings, or an attribute if `key_end` contains
    TYPED. `ends` may replace `after`. With `has_cdata`, a value may be between XML's marks of character data.
    """

    before: str
    mark: str
    key: str
    key_end: str
    value_end: str
    after: str
    ends: tuple[str, ...] = ()
    gap: str = "\n"
    lines: Literal["never", "read", "always"] = "never"
    has_cdata: bool = False

    @property
    def literals(self) -> tuple[str, ...]:
        key_end = self.key_end.replace(TYPED, "")
        return (self.before, self.mark, self.key, key_end, self.value_end, self.after)

    @property
    def opening(self) -> str:
        """An expression, between slashes, for the start of a call."""
        return escaped(self.before)

    def read(self, source: StreamedText, calls: CallWriter) -> Reading[None]:
        """Read one call; raises Malformed."""
        yield from source.expect(self.before)
        yield from source.skip_space()
        name = yield from source.run(NAME, MAX_NAME)
        yield from source.skip_space()
        yield from source.expect(self.mark)
        is_call = yield from source.comes_spaced((self.key, self.after, *self.ends))
        if not is_call:
            raise Malformed
        calls.begin(name)
        calls.write("{")
        comma = ""
        while (yield from source.skip_spaced(self.key)):
            calls.write(comma)
            yield from self._read_argument(source, calls, calls.parameters(name))
            comma = ","
        is_closed = yield from source.skip_spaced(self.after)
        if not is_closed and not (yield from source.comes_spaced(self.ends)):
            raise Malformed
        if not is_closed and not (yield from source.peek()):
            raise Ended
        calls.write("}")
        calls.finish()

    def _read_argument(self, source: StreamedText, calls: CallWriter, parameters: Any) -> Reading[None]:
        first, *others = BETWEEN_TAGS.split(self.key_end)
        is_typed = TYPED in first
        key = (yield from source.until('"' if is_typed else first, _MAX_KEY)).strip()
        kind = kind_of(parameters, key)
        if is_typed:
            attribute = _TYPE.search((yield from source.until(">", _MAX_KEY)))
            kind = kind if attribute is None else "text" if attribute[1] == "true" else "json"
        for tag in others:
            yield from source.skip_space()
            yield from source.expect(tag)
        calls.write(f"{quoted(key)}:")
        is_on_lines = self.lines != "never" and ((yield from source.skip("\n")) or self.lines == "always")
        if self.has_cdata and (yield from source.skip(_CDATA)):
            calls.write('"')
            yield from read_text(source, calls.write, Marks([_CDATA_END]))
            calls.write('"')
            yield from source.skip_space()
            yield from source.expect(self.value_end)
            return
        close = [self.value_end, "\n" + self.value_end] if is_on_lines else [self.value_end]
        place = ValueEnd(Marks(close), (self.key, self.after, *self.ends))
        yield from read_unquoted(source, calls.write, place, kind, parameters, key)

    def write(self, call: ToolCall, parameters: Any) -> str:
        """The call as text that is parsed as the same call, unless a string contains marks of the notation."""
        text = f"{self.before}{call.name}{self.mark}{self.gap}"
        for name, value in call.arguments.items():
            kind = kind_of(parameters, name)
            text += self._opening(name, isinstance(value, str))
            text += f"{self._value(value, kind, parameters, name)}{self._line}{self.value_end}{self.gap}"
        return text + self.after

    def _opening(self, name: str, is_text: bool) -> str:
        """The text of an argument before its value."""
        return f"{self.key}{name}{self.key_end.replace(TYPED, 'true' if is_text else 'false')}{self._line}"

    @property
    def _line(self) -> str:
        return "\n" if self.lines == "always" else ""

    def _value(self, value: Any, kind: Kind, parameters: Any, name: str) -> str:
        text = json.dumps(value, ensure_ascii=False)
        if not isinstance(value, str):
            return text
        if self.has_cdata and (value.strip() != value or "<" in value):
            return f"{_CDATA}{value}{_CDATA_END}"
        if kind == "either" and TYPED not in self.key_end and _is_json(value, parameters, name):
            return text
        return value

    def can_write(self, function: Function, _grammar: GrammarBuilder) -> bool:
        """True if every call of `function` can be written in this form."""
        arguments = function.arguments
        if arguments is None or not NAME.fullmatch(function.name):
            return False
        return all(self._can_write(one, function) for one in arguments)

    def _can_write(self, argument: Argument, function: Function) -> bool:
        if not re.fullmatch(r"[\w.-]+", argument.name):
            return False
        if kind_of(function.parameters, argument.name) != "text":
            return True
        if not isinstance(argument.schema, dict):
            return False
        values = _listed(argument.schema)
        if values is not None:
            return all(self.value_end not in value and value == value.strip() for value in values)
        is_measured = bool(argument.schema.keys() & {"minLength", "maxLength"})
        return not argument.schema.keys() - _OF_TEXT and not (is_measured and self.lines == "read")

    def rule(self, functions: Sequence[Function], grammar: GrammarBuilder) -> str:
        """The terms of a rule for one call of one of `functions`."""
        calls = []
        for function in functions:
            arguments = function.arguments or []
            terms = [self._argument_rule(one, function, grammar) for one in arguments]
            inside = grammar.sequence(terms, [one.is_required for one in arguments])
            head = grammar.literal(f"{self.before}{function.name}{self.mark}{self.gap}")
            calls.append(f"{head} {inside} {grammar.literal(self.after)}")
        return grammar.rule(" | ".join(calls))

    def _argument_rule(self, argument: Argument, function: Function, grammar: GrammarBuilder) -> str:
        is_text = kind_of(function.parameters, argument.name) == "text"
        opening = grammar.literal(self._opening(argument.name, is_text))
        close = f"{self._line}{self.value_end}"
        end = grammar.literal(f"{close}{self.gap}")
        if not is_text:
            return f"{opening} {grammar.json(argument.schema)} {end}"
        values = _listed(argument.schema)
        if values is not None:
            return f"{opening} ({' | '.join(map(json.dumps, values))}) {end}"
        least, most = argument.schema.get("minLength", 0), argument.schema.get("maxLength", "")
        gap = f" {json.dumps(self.gap)}" if self.gap else ""
        return f"{opening} {grammar.text(f'.{{{least},{most}}}', close)}{gap}"


def _listed(schema: dict[str, Any]) -> list[str] | None:
    """The strings that a schema lists; None if it lists none."""
    values = schema.get("enum", [schema["const"]] if "const" in schema else None)
    return values if isinstance(values, list) and all(isinstance(one, str) for one in values) else None


def _is_json(text: str, parameters: Any, name: str) -> bool:
    """True if an argument that may be a string or something else would be read as JSON."""
    try:
        return admits(parameters, name, json.loads(text))
    except (ValueError, RecursionError):
        return False

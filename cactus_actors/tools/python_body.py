"""Calls as Python writes them, with keyword arguments."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec

from cactus_actors.protocol.results import ToolCall
from cactus_actors.tools.call_writer import CallWriter
from cactus_actors.tools.grammar_builder import GrammarBuilder, escaped
from cactus_actors.tools.pieces import Malformed
from cactus_actors.tools.python_values import PYTHON
from cactus_actors.tools.streamed_text import Reading, StreamedText
from cactus_actors.tools.tool_functions import Function
from cactus_actors.tools.values import quoted, read_value

_NAME = re.compile(r"[\w.-]*")
_KEYWORD = re.compile(r"\w*")
_MAX_NAME = 128


class PythonBody(msgspec.Struct, frozen=True, kw_only=True):
    """A call as `name(argument=value, ...)`.

    In parsing, it may be the argument of `print`, its name may begin with `default_api.`, and values may be JSON.
    """

    literals: ClassVar[tuple[str, ...]] = ()

    @property
    def opening(self) -> str:
        """An expression, between slashes, for the start of a call."""
        return r"[\w.-]+\("

    def read(self, source: StreamedText, calls: CallWriter) -> Reading[None]:
        """Read one call; raises Malformed."""
        is_printed = yield from source.skip("print(")
        yield from source.skip("default_api.")
        name = yield from source.run(_NAME, _MAX_NAME)
        name = name.removesuffix(".call") if not calls.is_offered(name) else name
        yield from source.expect("(")
        yield from source.skip_space()
        is_empty = yield from source.skip(")")
        key = "" if is_empty else (yield from self._read_key(source))
        calls.begin(name)
        calls.write("{")
        while key:
            calls.write(f"{quoted(key)}:")
            yield from source.skip_space()
            yield from read_value(source, calls.write, PYTHON)
            key = yield from self._read_next_key(source)
            calls.write("," if key else "")
        calls.write("}")
        calls.finish()
        if is_printed:
            yield from source.skip_spaced(")")
        calls.settle()

    def _read_key(self, source: StreamedText) -> Reading[str]:
        key = yield from source.run(_KEYWORD, _MAX_NAME)
        yield from source.skip_space()
        yield from source.expect("=")
        if not key:
            raise Malformed
        return key

    def _read_next_key(self, source: StreamedText) -> Reading[str]:
        """The name of the next argument; empty after the last."""
        yield from source.skip_space()
        is_last = yield from source.skip(")")
        if is_last:
            return ""
        yield from source.expect(",")
        yield from source.skip_space()
        is_last = yield from source.skip(")")
        return "" if is_last else (yield from self._read_key(source))

    def write(self, call: ToolCall, _parameters: Any) -> str:
        """The call as text that is parsed as the same call, if its names are Python's."""
        return f"{call.name}({', '.join(f'{key}={_literal(value)}' for key, value in call.arguments.items())})"

    def can_write(self, function: Function, _grammar: GrammarBuilder) -> bool:
        """True if every call of `function` can be written in this form."""
        arguments = function.arguments
        names = [function.name.replace(".", "_"), *(one.name for one in arguments or ())]
        return arguments is not None and all(name.isidentifier() for name in names)

    def rule(self, functions: Sequence[Function], grammar: GrammarBuilder) -> str:
        """The terms of a rule for one call of one of `functions`."""
        calls = [f"{grammar.literal(f'{one.name}(')} {self._arguments_rule(one, grammar)}" for one in functions]
        return grammar.rule(" | ".join(calls))

    def parts(self, function: Function, grammar: GrammarBuilder) -> tuple[str, str]:
        """An expression for a call up to its arguments, and the terms of the rest."""
        return escaped(f"{function.name}("), self._arguments_rule(function, grammar)

    def _arguments_rule(self, function: Function, grammar: GrammarBuilder) -> str:
        arguments = function.arguments or []
        values = [f"{json.dumps(f'{one.name}=')} {_value(one.schema, grammar)}" for one in arguments]
        inside = grammar.sequence(values, [one.is_required for one in arguments], '", "')
        return f'{inside} ")"'


def _value(schema: Any, grammar: GrammarBuilder) -> str:
    """The term of a value; truth values in Python's spelling, which the models know."""
    is_truth = isinstance(schema, dict) and schema.get("type") == "boolean" and not schema.keys() & {"enum", "const"}
    return '("True" | "False")' if is_truth else grammar.json(schema)


def _literal(value: Any) -> str:
    """A value in Python's notation, with strings as in JSON, which is valid Python."""
    match value:
        case None | bool():
            return repr(value)
        case str():
            return json.dumps(value, ensure_ascii=False)
        case list():
            return f"[{', '.join(map(_literal, value))}]"
        case dict():
            return f"{{{', '.join(f'{_literal(key)}: {_literal(one)}' for key, one in value.items())}}}"
    return json.dumps(value)

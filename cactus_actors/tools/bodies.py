"""One written value to the tool calls in it: where it ends, and what it says."""

from __future__ import annotations

import ast
import math
import re
import warnings
from typing import Any

import msgspec

from cactus_actors.protocol.results import ToolCall

MAX_CHARACTERS = 1 << 16
MAX_DEPTH = 64
MAX_CALLS = 128

_EVENT = re.compile(r"[\"'\\{}()\[\]]")
_CONSTANTS = {"true": True, "false": False, "null": None}


class Malformed(Exception):
    """What stands here is no call."""


class ValueScan:
    """Finds where a value ends that begins at `start`, reading every character once.

    A value ends with the bracket that closes its first one; brackets in strings of either quote do not count.
    """

    def __init__(self, start: int) -> None:
        self._start = self._position = start
        self._depth = 0
        self._quote = ""

    def end_in(self, text: str) -> int | None:
        """The end in `text`, which begins with what was given before; None if it is not there yet.

        Raises Malformed for a value that is too long or too deep.
        """
        while (match := _EVENT.search(text, self._position)) is not None:
            character, self._position = match[0], match.end()
            if character == "\\":
                if match.end() == len(text):  # what is escaped has not come yet
                    self._position = match.start()
                    break
                self._position += 1
            elif self._quote:
                self._quote = "" if character == self._quote else self._quote
            elif character in "\"'":
                self._quote = character
            else:
                self._depth += 1 if character in "{[(" else -1
                if self._depth > MAX_DEPTH:
                    raise Malformed
                if self._depth == 0:
                    return self._within_limit(match.end())
        else:
            self._position = len(text)
        self._within_limit(self._position)
        return None

    def _within_limit(self, end: int) -> int:
        if end - self._start > MAX_CHARACTERS:
            raise Malformed
        return end


def calls_in(value: str) -> list[ToolCall]:
    """The calls that a JSON or Python value holds, at least one; raises Malformed.

    In JSON a call is `{"name", "arguments"}`, the latter an object or the text of one and also named
    `parameters`, or such an object as `function`. In Python it is a call of keyword arguments that are
    constants. A list holds several.
    """
    try:
        decoded = msgspec.json.decode(value)
        calls = [_json_call(item) for item in (decoded if isinstance(decoded, list) else [decoded])]
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        calls = _python_calls(value)
    if not 1 <= len(calls) <= MAX_CALLS:
        raise Malformed
    return [_sendable(call) for call in calls]


def named_call(name: str, arguments: str) -> ToolCall:
    """The call of `name` with a JSON object of arguments; raises Malformed."""
    return _sendable(ToolCall(name, _arguments(arguments)))


def _sendable(call: ToolCall) -> ToolCall:
    """The call, if a message can hold it: no integer beyond 64 bits, no half of a surrogate pair."""
    try:
        msgspec.msgpack.encode(call)
    except (OverflowError, UnicodeEncodeError):
        raise Malformed from None
    return call


def _json_call(value: Any) -> ToolCall:
    if isinstance(value, dict) and isinstance(value.get("function"), dict):
        value = value["function"]
    if not isinstance(value, dict):
        raise Malformed
    name, arguments = value.get("name"), value.get("arguments", value.get("parameters"))
    if not isinstance(name, str) or not name:
        raise Malformed
    return ToolCall(name, _arguments(arguments))


def _arguments(value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        try:
            value = msgspec.json.decode(value)
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            raise Malformed from None
    if not isinstance(value, dict):
        raise Malformed
    return value


def _python_calls(text: str) -> list[ToolCall]:
    try:
        with warnings.catch_warnings():  # of escapes that Python does not know
            warnings.simplefilter("ignore")
            expression = ast.parse(text, mode="eval").body
        items = expression.elts if isinstance(expression, ast.List) else [expression]
        return [_python_call(item) for item in items]
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise Malformed from None


def _python_call(node: ast.expr) -> ToolCall:
    match node:
        case ast.Call(func=ast.Name(id="print"), args=[ast.Call() as inner], keywords=[]):
            return _python_call(inner)
        case ast.Call(func=function, args=[], keywords=keywords):
            name = _dotted_name(function).removeprefix("default_api.")
            arguments = {keyword.arg: _constant(keyword.value) for keyword in keywords if keyword.arg}
            if len(arguments) == len(keywords):
                return ToolCall(name, arguments)
    raise Malformed


def _dotted_name(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=owner, attr=name):
            return f"{_dotted_name(owner)}.{name}"
    raise Malformed


def _constant(node: ast.expr) -> Any:
    """The JSON value of a literal."""
    match node:
        case ast.Constant(value=float() as value) if not math.isfinite(value):
            raise Malformed
        case ast.Constant(value=None | bool() | int() | float() | str() as value):
            return value
        case ast.Name(id=name) if name in _CONSTANTS:
            return _CONSTANTS[name]
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)) if (
            not isinstance(value, float) or math.isfinite(value)
        ):
            return -value
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return [_constant(item) for item in items]
        case ast.Dict(keys=keys, values=values):
            return {_key(key): _constant(value) for key, value in zip(keys, values, strict=True)}
    raise Malformed


def _key(node: ast.expr | None) -> str:
    match node:
        case ast.Constant(value=str() as text):
            return text
    raise Malformed

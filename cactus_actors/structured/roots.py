"""The languages that `grammar_root` names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cactus_actors.protocol.errors import InvalidRequest
from cactus_actors.structured.compiled import Grammar, json_grammar, lark_grammar
from cactus_actors.tools.grammar import (
    CALL,
    TokenNames,
    call_schema,
    calls_rule,
    text_terminal,
)
from cactus_actors.tools.markup import Markup

PARAM = "grammar_root"

_HEX = "[0-9a-fA-F]"
_UNIT = rf"[0-9a-cefA-CEF]{_HEX}{{3}}|[dD][0-7]{_HEX}{{2}}"  # a UTF-16 code unit that is a character
_PAIR = rf"[dD][89abAB]{_HEX}{{2}}\\u[dD][c-fC-F]{_HEX}{{2}}"
_INSIDE = rf"([^\"\\\x00-\x1F]|\\([\"\\\/bfnrt]|u({_UNIT}|{_PAIR})))*"

_EXPRESSIONS = {
    "insidevalue": _INSIDE,
    "string": f'"{_INSIDE}"',
    "number": r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?",
    "ws": r"[ \t\n\r]{0,32}",
}
_SCHEMAS: dict[str, Any] = {"value": {}, "object": {"type": "object"}, "array": {"type": "array"}}
_CALLS = ("root", "fcall", "nofcall", "func", "funcarray")

ROOTS = (*_CALLS, *_EXPRESSIONS, *_SCHEMAS)


def root_grammars(
    root: str, tokenizer: TokenNames, tools: Sequence[Mapping[str, Any]], markup: Markup
) -> list[Grammar]:
    """The grammars of the language `root`, calls in `markup` and of `tools` if there are any.

    Raises InvalidRequest for a name that is not in ROOTS.
    """
    if root in _EXPRESSIONS:
        return [lark_grammar(f"start: /{_EXPRESSIONS[root]}/")]
    if root in _SCHEMAS:
        return [json_grammar(_SCHEMAS[root], param=PARAM)]
    if root not in _CALLS:
        raise InvalidRequest(f"grammar_root must be one of {', '.join(ROOTS)}", param=PARAM)
    if root == "nofcall":
        return [lark_grammar(f"start: TEXT\nTEXT: {text_terminal(markup)}")]
    if root in ("func", "funcarray"):
        rule = CALL if root == "func" else f'"[" {CALL} ("," {CALL})* "]"'
        return [lark_grammar(f"start: {rule}"), _call_grammar(tools, "arguments")]
    rule = calls_rule(markup, tokenizer, parallel=False)
    if root == "root":
        rule = f"calls | TEXT\ncalls: {rule}\nTEXT: {text_terminal(markup)}"
    return [lark_grammar(f"start: {rule}"), _call_grammar(tools, markup.arguments_key)]


def _call_grammar(tools: Sequence[Mapping[str, Any]], arguments_key: str) -> Grammar:
    return json_grammar(
        call_schema(tools, arguments_key, param="tools"), param="tools", name="call", space=" "
    )

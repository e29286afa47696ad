"""The languages that `grammar_root` names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cactus_actors.protocol.errors import InvalidRequest, NotSupported, SchemaInvalid
from cactus_actors.reasoning import MARKUPS as REASONING
from cactus_actors.structured.compiled import Grammar, json_grammar, lark_grammar
from cactus_actors.tools.grammar import (
    CallsGrammar,
    calls_grammar,
    calls_or_json_grammar,
    calls_or_text_grammar,
    json_calls_grammar,
    text_grammar,
)
from cactus_actors.tools.grammar_builder import TokenNames
from cactus_actors.tools.markup_table import markup_named
from cactus_actors.tools.text_with_calls import text_with_calls_grammar
from cactus_actors.tools.tool_functions import Function, functions_of

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


def root_grammars(root: str, tokenizer: TokenNames, tools: Sequence[Mapping[str, Any]], markup: str) -> list[Grammar]:
    """The grammars of the language `root`, calls in `markup` and of `tools` if there are any.

    Raises InvalidRequest for a name that is not in ROOTS.
    """
    if root in _EXPRESSIONS:
        return [lark_grammar(f"start: /{_EXPRESSIONS[root]}/")]
    if root in _SCHEMAS:
        return [json_grammar(_SCHEMAS[root], param=PARAM)]
    if root not in _CALLS:
        raise InvalidRequest(f"grammar_root must be one of {', '.join(ROOTS)}", param=PARAM)
    row = markup_named(markup)
    functions = functions_of(tools, param="tools")
    match root:
        case "nofcall":
            return with_schemas(text_grammar(row), param=PARAM)
        case "fcall":
            calls = calls_grammar(row, functions, tokenizer, parallel=False)
        case "root":
            calls = calls_or_text_grammar(row, functions, tokenizer, parallel=False)
        case _:
            calls = json_calls_grammar(functions, in_list=root == "funcarray")
    return with_schemas(calls, param="tools")


def free_calls_grammars(
    tools: Sequence[Mapping[str, Any]],
    tokenizer: TokenNames,
    markup: str,
    *,
    parallel: bool,
    reasoning: str | None,
) -> list[Grammar]:
    """The grammars of any text in which the calls of `tools` obey their schemas.

    It is the answer of a model that reasons in the markup of the name `reasoning`.

    Raises as `json_grammar` does for a strict tool; one that is not strict, and whose schema cannot be
    enforced, may be called with any object.
    """
    functions = [_enforceable(one) for one in functions_of(tools, param="tools")]
    calls = text_with_calls_grammar(
        markup_named(markup),
        functions,
        tokenizer,
        parallel=parallel,
        reasoning=REASONING.get(reasoning or ""),
    )
    return with_schemas(calls, param="tools")


def calls_or_json_grammars(
    schema: Any, tools: Sequence[Mapping[str, Any]], tokenizer: TokenNames, markup: str, *, parallel: bool
) -> list[Grammar]:
    """The grammars of calls of `tools` that obey their schemas, or else of JSON that obeys `schema`.

    Raises as `free_calls_grammars` does.
    """
    functions = [_enforceable(one) for one in functions_of(tools, param="tools")]
    calls = calls_or_json_grammar(markup_named(markup), functions, tokenizer, parallel=parallel, schema=schema)
    return with_schemas(calls, param="tools")


def _enforceable(function: Function) -> Function:
    if function.is_strict:
        return function
    try:
        json_grammar(function.parameters, param="tools")
    except (SchemaInvalid, NotSupported):
        return function._replace(parameters={"type": "object"})
    return function


def with_schemas(calls: CallsGrammar, *, param: str) -> list[Grammar]:
    """The grammar of calls and those of the JSON in it."""
    schemas = calls.schemas.items()
    return [
        lark_grammar(calls.lark),
        *(json_grammar(schema, param=param, name=name) for name, schema in schemas),
    ]

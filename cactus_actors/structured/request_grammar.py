"""Compiles a job's structured-output options to one grammar for a worker."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from cactus_actors.protocol.errors import InvalidRequest, SchemaInvalid
from cactus_actors.protocol.options import Options
from cactus_actors.structured.bounded_cache import BoundedCache
from cactus_actors.structured.compiled import check_begins, json_grammar, lark_grammar, serialised
from cactus_actors.structured.expressions import terminal_of
from cactus_actors.structured.gbnf import lark_of_gbnf
from cactus_actors.structured.grammar_roots import (
    calls_or_json_grammars,
    free_calls_grammars,
    root_grammars,
    with_schemas,
)
from cactus_actors.tools.grammar import calls_grammar
from cactus_actors.tools.grammar_builder import TokenNames
from cactus_actors.tools.markup_table import markup_named
from cactus_actors.tools.tool_functions import functions_of

CACHE_BYTES = 8 << 20


def compile_request(
    options: Options,
    tokenizer: TokenNames,
    *,
    tools: Sequence[Mapping[str, Any]] = (),
    markup: str | None = None,
    force_tools: bool = False,
    parallel_tool_calls: bool = True,
    strict_tools: bool = False,
    reasoning: str | None = None,
) -> str:
    """The grammar of the whole text, serialised for `Dispatch.grammar`; empty if any text will do.

    Of `options` the fields `json_schema`, `response_format`, `regex`, `grammar` and `grammar_root` are read.
    `tools` are those that may be called; with `force_tools` the text is one or more calls of them and nothing else,
    in the `markup` of that name (`tools/markup_table.py`, plain JSON by default). Beside a schema of the text, it may
    be such calls instead. With `strict_tools`, if the
    options request no structure, the text is free and the calls in it obey their schemas; reasoning in the markup
    `reasoning` comes before it.

    Raises SchemaInvalid (with SchemaTooComplex and SchemaUnsatisfiable), NotSupported and InvalidRequest with
    `param`. Takes milliseconds, and at most a second for the largest that the limits admit.
    """
    wanted = _forms(options)
    if force_tools:
        wanted["force_tools"] = True
        if not tools:
            raise InvalidRequest("a tool call is forced, and there are no tools", param="force_tools")
    if strict_tools and not wanted:
        wanted["strict_tools"] = reasoning
    forms = [name for name in wanted if name != "grammar_root" or "grammar" not in wanted]
    if len(forms) > 1:
        raise InvalidRequest(f"{forms[0]} and {forms[1]} both constrain the text", param=forms[1])
    if not forms:
        return ""
    row = markup or "json"
    key = _key(wanted, tokenizer, tools, row, parallel_tool_calls)
    if key is not None and (known := COMPILED.get(key)) is not None:
        return known
    compiled = _compile(wanted, tokenizer, tools, row, parallel_tool_calls)
    if key is not None:
        COMPILED.put(key, compiled, len(key) + len(compiled))
    return compiled


def check_form(options: Options) -> None:
    """Raise the errors of `compile_request` for a `json_schema`, whatever the model."""
    if options.json_schema is not None:
        _checked(json_grammar(options.json_schema, param="json_schema"), "json_schema")


def _forms(options: Options) -> dict[str, Any]:
    """The structured-output options by name; a response format as its schema."""
    named = {name: getattr(options, name) for name in ("json_schema", "regex", "grammar", "grammar_root")}
    wanted = {name: value for name, value in named.items() if value is not None}
    schema = _schema_of_format(options.response_format)
    return wanted if schema is None else {**wanted, "response_format": schema}


def _schema_of_format(response_format: dict[str, Any] | None) -> Any:
    """The schema of a response format, None for text."""
    if response_format is None:
        return None
    match response_format:
        case {"type": "text"}:
            return None
        case {"type": "json_object", "schema": schema} if schema is not None:  # llama.cpp's spelling
            return schema
        case {"type": "json_object"}:
            return {"type": "object"}
        case {"type": "json_schema", "json_schema": {"schema": schema}} if schema is not None:
            return schema
        case {"type": "json_schema", "schema": schema} if schema is not None:
            return schema
        case {"type": "json_schema"}:
            raise InvalidRequest("response_format.json_schema.schema is required", param="response_format")
    raise InvalidRequest("response_format.type must be text, json_object or json_schema", param="response_format")


def _compile(
    wanted: dict[str, Any],
    tokenizer: TokenNames,
    tools: Sequence[Mapping[str, Any]],
    markup: str,
    parallel: bool,
) -> str:
    match wanted:
        case {"json_schema": schema} | {"response_format": schema}:
            (param,) = wanted
            plain = _checked(json_grammar(schema, param=param), param)
            if not tools:
                return plain
            return serialised(
                *calls_or_json_grammars(schema, tools, tokenizer, markup, parallel=parallel), param="tools"
            )
        case {"regex": pattern}:
            _check_text(pattern, "regex")
            return _checked(lark_grammar(f"start: {terminal_of(pattern, param='regex')}"), "regex")
        case {"grammar": text}:
            _check_text(text, "grammar")
            lark = lark_of_gbnf(text, wanted.get("grammar_root", "root"), tokenizer)
            return serialised(lark_grammar(lark), param="grammar")
        case {"grammar_root": root}:
            return serialised(*root_grammars(root, tokenizer, tools, markup), param="grammar_root")
        case {"strict_tools": reasoning}:
            grammars = free_calls_grammars(tools, tokenizer, markup, parallel=parallel, reasoning=reasoning)
            return serialised(*grammars, param="tools")
    functions = functions_of(tools, param="tools")
    calls = calls_grammar(markup_named(markup), functions, tokenizer, parallel=parallel)
    return serialised(*with_schemas(calls, param="tools"), param="tools")


def _checked(grammar: dict[str, Any], param: str) -> str:
    text = serialised(grammar, param=param)
    check_begins(text, param=param)
    return text


def _check_text(text: str, param: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise SchemaInvalid(f"invalid Unicode (lone surrogate) at position {error.start}", param=param) from error


def _key(
    wanted: dict[str, Any],
    tokenizer: TokenNames,
    tools: Sequence[Mapping[str, Any]],
    markup: str,
    parallel: bool,
) -> str | None:
    """The cache key: all inputs of the grammar; None if it should not or cannot be cached."""
    if "<" in str(wanted.get("grammar", "")):  # it may refer to tokens of this tokenizer
        return None
    calls: list[Any] = []
    if wanted.keys() & {"force_tools", "grammar_root", "strict_tools"} or tools:
        ids = [tokenizer.id_of(token) for token in markup_named(markup).tokens]
        calls = [list(tools), markup, parallel, ids]
    try:
        return json.dumps([wanted, calls])
    except (TypeError, ValueError, RecursionError):
        return None


COMPILED: BoundedCache[str] = BoundedCache(CACHE_BYTES)

"""Grammars in the form for workers: llguidance's JSON form, compiled once as a check."""

from __future__ import annotations

import json
import re
from typing import Any

from llguidance import LLMatcher, LLTokenizer

from cactus_actors.protocol.errors import SchemaUnsatisfiable
from cactus_actors.structured.compiler_messages import error_of
from cactus_actors.structured.limits import parser_limits
from cactus_actors.structured.satisfiability import check_satisfiable
from cactus_actors.structured.schema import normalised

Grammar = dict[str, Any]
"""One entry of a serialised grammar: `json_schema` or `lark_grammar`, and a `name` to refer to it by."""

_SPACE = " "
"""White space allowed once between the parts of a JSON text: small models waste tokens if more is allowed."""
_ESCAPES = 'nrbtf\\"'
"""Without \\u a name has one spelling, so that no unlisted property is a listed one in disguise."""

TOO_MUCH_WORK = "a text that matches it takes more work than a worker may spend on it"

_NO_TOKENS = re.compile(r"no tokenizer - can't validate")


def json_grammar(schema: Any, *, param: str, name: str | None = None) -> Grammar:
    """The grammar of the JSON values that obey `schema`; raises like `normalised` and `check_satisfiable`."""
    definitions = check_satisfiable(normalised(schema, param=param), param=param)
    first = next(iter(definitions))
    root: Any = definitions[first]
    if len(definitions) > 1 or '"$ref"' in json.dumps(root):
        root = {"$ref": f"#/$defs/{first}", "$defs": definitions}
    elif root is True:
        root = {}
    style = {"whitespace_pattern": _SPACE, "json_allowed_escapes": _ESCAPES}
    grammar: Grammar = {"json_schema": {"x-guidance": style, **root}}
    return grammar if name is None else {"name": name, **grammar}


def lark_grammar(text: str) -> Grammar:
    """The grammar in llguidance's own notation."""
    return {"lark_grammar": text}


def serialised(*grammars: Grammar, param: str) -> str:
    """`grammars`, the first the start, as one text, after a test that it compiles.

    The first is named after `param`, its field of the request. Raises SchemaInvalid and its subclasses, or
    NotSupported for grammars that the compiler would only approximate.
    """
    first, *others = grammars
    text = json.dumps({"grammars": [{"name": param, **first}, *others]})
    failed, messages = LLMatcher.validate_grammar_with_warnings(text, limits=parser_limits())
    for message in messages:
        if failed or not _NO_TOKENS.search(message):
            raise error_of(message, param)
    return text


def param_of(grammar: str) -> str:
    """The request's field of a serialised grammar."""
    name = json.loads(grammar)["grammars"][0].get("name", "grammar")
    return str(name)


def check_begins(grammar: str, *, param: str) -> None:
    """Raise SchemaUnsatisfiable if no text at all can begin; `grammar` names no token of a vocabulary."""
    matcher = LLMatcher(LLTokenizer("byte"), grammar, log_level=0, limits=parser_limits())
    if not matcher.is_accepting() and matcher.is_error():
        raise error_of(matcher.get_error(), param)
    if not matcher.is_accepting():
        matcher.compute_bitmask()
        if matcher.is_error():
            raise SchemaUnsatisfiable("no text can match it", param=param)

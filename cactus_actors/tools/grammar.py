"""Grammars of tool calls, in the markup that the model writes them in."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from cactus_actors.protocol.errors import InvalidRequest
from cactus_actors.tools.markup import Markup

CALL = "@call"
"""Refers to a grammar that is made of `call_schema`."""


class TokenNames(Protocol):
    """The part of a tokenizer that is needed to speak of its tokens."""

    @property
    def vocab_size(self) -> int: ...

    def id_of(self, token: str) -> int | None: ...

    def is_special(self, token_id: int) -> bool: ...


def call_schema(tools: Sequence[Mapping[str, Any]], arguments_key: str, *, param: str) -> dict[str, Any]:
    """One call of one of `tools` as a JSON object; of any name with any arguments if there are none."""
    calls = [_call(*_name_and_parameters(tool, param), arguments_key) for tool in tools]
    return {"anyOf": calls} if calls else _call(None, {"type": "object"}, arguments_key)


def calls_rule(markup: Markup, tokenizer: TokenNames, *, parallel: bool) -> str:
    """The body of a rule for one call, or one or more with `parallel`, and the markup around them."""
    prefix, separator, suffix = (
        marked_text(text, markup, tokenizer) for text in (markup.prefix, markup.separator, markup.suffix)
    )
    more = f"({separator} {CALL})*" if parallel else ""
    return " ".join(part for part in (prefix, CALL, more, suffix) if part)


def marked_text(text: str, markup: Markup, tokenizer: TokenNames) -> str:
    """`text` as terms of a rule: control tokens by their id, because they stand for no characters."""
    control: dict[str, int] = {}
    for token in markup.tokens:
        token_id = tokenizer.id_of(token)
        if token_id is not None and tokenizer.is_special(token_id):
            control[token] = token_id
    pieces = re.split(f"({'|'.join(map(re.escape, control))})", text) if control else [text]
    terms = [f"<[{control[piece]}]>" if piece in control else json.dumps(piece) for piece in pieces if piece]
    return " ".join(terms)


def text_terminal(markup: Markup) -> str:
    """A terminal for text in which no call begins."""
    openings = "|".join(re.escape(block.open).replace("/", r"\/") for block in markup.blocks)
    return f"/(?s:.*)/ & ~/(?s:.*)({openings})(?s:.*)/"


def _call(name: str | None, parameters: Any, arguments_key: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            "name": {"type": "string"} if name is None else {"const": name},
            arguments_key: parameters,
        },
        "required": ["name", arguments_key],
        "additionalProperties": False,
    }


def _name_and_parameters(tool: Mapping[str, Any], param: str) -> tuple[str, Any]:
    """Of a tool in OpenAI's shape or a bare function; parameters that are not listed may not be given."""
    function = tool.get("function", tool)
    name = function.get("name") if isinstance(function, Mapping) else None
    if not isinstance(name, str) or not name:
        raise InvalidRequest("a tool has no name", param=param)
    parameters = function.get("parameters")
    if parameters is None or parameters == {}:
        return name, {"type": "object", "properties": {}, "additionalProperties": False}
    if isinstance(parameters, Mapping):
        if parameters.get("type", "object") != "object":
            raise InvalidRequest(f"the parameters of {name[:64]} are not of the type object", param=param)
        closed = {"additionalProperties": False} if _is_plain(parameters) else {}
        parameters = {"type": "object", **parameters, **closed}
    return name, parameters


def _is_plain(parameters: Mapping[str, Any]) -> bool:
    """Whether nothing but `properties` says which arguments there are."""
    others = ("$ref", "additionalProperties", "allOf", "anyOf", "oneOf", "patternProperties")
    return "properties" in parameters and not any(keyword in parameters for keyword in others)

"""Expressions for the start of calls of given tools in a text, in every form that is parsed."""

from __future__ import annotations

import re
from collections.abc import Iterable

from cactus_actors.tools.form import Form
from cactus_actors.tools.grammar_builder import escaped
from cactus_actors.tools.json_body import JsonBody
from cactus_actors.tools.markup import Markup
from cactus_actors.tools.named_body import NamedBody
from cactus_actors.tools.python_body import PythonBody

_PLAIN = re.compile(r"\[|>>>|```\w+|[A-Za-z]+:?")
"""Marks that also occur in ordinary text."""
_ESCAPED = r"[^\"\\]*\\"
"""A name with an escape may be any name."""
_OTHER_KEYS = "arguments|parameters|function|type|id|tool_call_id"


def is_certain(form: Form) -> bool:
    """True if the mark alone proves a call."""
    return bool(form.mark) and _PLAIN.fullmatch(form.mark) is None


def openings(markup: Markup, names: Iterable[str]) -> str:
    """An expression, between slashes, for the start of a call anywhere in a text."""
    any_name = "|".join(map(escaped, names))
    return "|".join(dict.fromkeys(_opening(form, any_name) for form in markup.forms))


def first_openings(markup: Markup, names: Iterable[str], others: Iterable[str]) -> str:
    """An expression for a call at the start of a text or after another call, and for the texts `others`."""
    any_name = "|".join(map(escaped, names))
    lead = "|".join(map(escaped, markup.hidden_first))
    bare = [_opening(form, any_name) for form in markup.bare if not form.mark]
    calls = "|".join(dict.fromkeys([*bare, _json_opening(any_name)]))
    begins = [rf"({lead})?[,;]?\s*({calls})", *_after_tokens(markup), *map(escaped, others)]
    return "|".join(begins)


def _opening(form: Form, names: str) -> str:
    if is_certain(form):
        return escaped(form.mark)
    pieces = [escaped(piece.strip()) for piece in (*form.open, form.begin) if piece]
    match form.body:
        case JsonBody():
            last = _json_opening(names)
        case PythonBody():
            last = rf"(print\()?(default_api\.)?({names})(\.call)?\("
        case NamedBody(before=before, mark=mark):
            last = rf"{escaped(before)}\s*({names})\s*{escaped(mark.strip() or mark)}"
        case _:
            last = form.body.opening
    return r"\s*".join([*pieces, last])


def _json_opening(names: str) -> str:
    named = rf"(name|tool_name)\"\s*:\s*\"(({names})\"|{_ESCAPED})"
    return rf"(\[\s*)?\{{\s*\"({named}|({_OTHER_KEYS})\"|{_ESCAPED})"


def _after_tokens(markup: Markup) -> list[str]:
    """The text after the control tokens with which marks may begin."""
    rests = [
        form.mark.removeprefix(token) for form in markup.forms for token in markup.tokens if form.mark.startswith(token)
    ]
    return [escaped(re.split(r"[<\[]", text)[0]) for text in dict.fromkeys(rests) if text and text[0] not in "<["]

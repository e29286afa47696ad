"""Compares an answer with the cloud's, by rule alone."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Sequence
from typing import Any, Literal

from cactus_actors.protocol.results import ToolCall
from cactus_actors.tools.call_splitter import ParsedText

Verdict = Literal["right", "wrong", "unjudged"]

_QUOTES = "\"'`\u2018\u2019\u201a\u201c\u201d\u201e\u00ab\u00bb"
_AT_START = _QUOTES + "\u00a1\u00bf"
_AT_END = _QUOTES + ".,;:!?\u2026\u3002\u3001"


def verdict_of(local: ParsedText, cloud: ParsedText) -> Verdict:
    """`right` if the answers agree, `wrong` if they are structured and differ, else `unjudged`.

    Answers agree with the same tool calls, in any order, with equal JSON values, or with equal normalised texts.
    Structured are answers that are both tool calls, or both JSON objects or lists: another text can still be right.
    """
    if local.incomplete_calls or cloud.incomplete_calls:
        return "unjudged"
    if local.calls or cloud.calls:
        if not (local.calls and cloud.calls):
            return "unjudged"
        return "right" if _forms_of(local.calls) == _forms_of(cloud.calls) else "wrong"
    if normalised(local.text) == normalised(cloud.text):
        return "right"
    values = [_value_of(answer.text) for answer in (local, cloud)]
    if None in values:
        return "unjudged"
    if values[0] == values[1]:
        return "right"
    return "wrong" if all(value[0] in "{[" for value in values if value) else "unjudged"


def normalised(text: str) -> str:
    """The text in NFKC without differences of case and white space, and without punctuation at its ends.

    Only punctuation that changes no value is removed: not the sign of a number, and not a percent sign. A text of
    nothing else keeps it.
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    words = re.sub(r"\s+", " ", folded).strip()
    return words.lstrip(_AT_START + " ").rstrip(_AT_END + " ") or words


def _forms_of(calls: Sequence[ToolCall]) -> list[tuple[str, str]]:
    return sorted((call.name, _form_of(call.arguments)) for call in calls)


def _value_of(text: str) -> str | None:
    """One form for all equal JSON values; None for a text that is not one."""
    try:
        return _form_of(json.loads(text, parse_constant=_refuse))
    except (ValueError, OverflowError, RecursionError):
        return None


def _form_of(value: Any) -> str:
    return json.dumps(_with_equal_numbers(value), sort_keys=True)


def _with_equal_numbers(value: Any) -> Any:
    """The value with whole numbers as integers: 1.0 equals 1, and true does not."""
    match value:
        case float() if value.is_integer():
            return int(value)
        case dict():
            return {name: _with_equal_numbers(item) for name, item in value.items()}
        case list() | tuple():
            return [_with_equal_numbers(item) for item in value]
    return value


def _refuse(constant: str) -> None:
    raise ValueError(constant)

"""Tools for forced calls, and requests and calls that use them."""

from __future__ import annotations

from typing import Any

from cactus_actors.protocol.results import ToolCall
from cactus_actors.tools.markup_table import MARKUPS

WEATHER = {
    "name": "weather",
    "parameters": {
        "type": "object",
        "properties": {
            "city": {"type": "string", "enum": ["Rome", "Oslo"]},
            "days": {"type": "integer", "minimum": 1, "maximum": 9},
        },
        "required": ["city"],
    },
}
TIME = {"name": "time"}
NOTE = {
    "name": "note",
    "parameters": {
        "type": "object",
        "properties": {
            "text": {"type": "string"},
            "urgent": {"type": "boolean"},
            "where": {"$ref": "#/$defs/place"},
            "labels": {"type": "array", "items": {"type": "string"}, "maxItems": 2},
            "title": {"type": ["string", "null"], "maxLength": 8},
        },
        "required": ["text", "urgent"],
        "$defs": {
            "place": {
                "type": "object",
                "properties": {"x": {"type": "integer", "minimum": -90, "maximum": 90}},
                "required": ["x"],
                "additionalProperties": False,
            }
        },
    },
}
CODE = {
    "name": "code",
    "parameters": {
        "type": "object",
        "properties": {"id": {"type": "string", "pattern": "^[A-F]{3}$"}},
        "required": ["id"],
    },
}
TOOLS: list[dict[str, Any]] = [WEATHER, TIME, NOTE, CODE]


def as_forced(markup: str, text: str) -> str:
    """The text without the part that the prompt has already."""
    row = MARKUPS[markup]
    return text.removeprefix(row.forms[0].mark) if row.is_begun else text


def calls(*pairs: tuple[str, dict[str, Any]]) -> list[ToolCall]:
    return [ToolCall(name, arguments) for name, arguments in pairs]

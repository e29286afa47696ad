"""`tool_choice` and `force_tools`: the answer may, must or must not be a call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from cactus_actors.protocol.errors import InvalidRequest


class ToolChoice(msgspec.Struct, frozen=True):
    """Says that the answer may, must or must not be a call; `name` is the tool that it must call."""

    mode: Literal["auto", "none", "required"] = "auto"
    name: str | None = None


def tool_choice(given: Mapping[str, Any]) -> ToolChoice:
    """The choice that `tool_choice` and `force_tools` make together; raises InvalidRequest."""
    choice = _named_choice(given.get("tool_choice", "auto"))
    if given.get("force_tools", False) and choice.name is None:
        if choice.mode == "none":
            raise InvalidRequest("force_tools and tool_choice none exclude each other", param="force_tools")
        return ToolChoice("required")
    return choice


def _named_choice(choice: str | dict[str, Any]) -> ToolChoice:
    match choice:
        case "auto":
            return ToolChoice("auto")
        case "none":
            return ToolChoice("none")
        case "any" | "required":
            return ToolChoice("required")
        case {"type": "function", "function": {"name": str() as name}}:
            return ToolChoice("required", name)
    raise InvalidRequest(
        'tool_choice must be none, auto, any, required or {"type": "function", "function": {"name": ...}}',
        param="tool_choice",
    )

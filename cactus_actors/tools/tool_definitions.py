"""Normalises the tools of a client."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from cactus_actors.protocol.errors import InvalidRequest

MAX_TOOLS = 1024
_NAME = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
"""OpenAI's characters for names, and dots, which every form of calls supports."""
_KINDS: dict[type, str] = {str: "a string", dict: "an object", bool: "true or false"}


def normalised_tools(tools: Sequence[dict[str, Any]] | None) -> list[dict[str, Any]] | None:
    """The tools in OpenAI's wrapper, which clients may omit; None if there are none.

    Raises InvalidRequest, with the place in `param`, for a tool without a name, or with a repeated or unsupported
    one.
    """
    if not tools:
        return None
    if len(tools) > MAX_TOOLS:
        raise InvalidRequest(f"tools holds {len(tools)} tools, at most {MAX_TOOLS}", param="tools")
    wrapped = [_wrapped(tool, place) for place, tool in enumerate(tools)]
    names: set[str] = set()
    for place, tool in enumerate(wrapped):
        name = name_of(tool)
        if name in names:
            raise InvalidRequest(f"two tools are named {name!r:.80}", param=f"tools[{place}].function.name")
        names.add(name)
    return wrapped


def name_of(tool: dict[str, Any]) -> str:
    """The name of a normalised tool."""
    name: str = tool["function"]["name"]
    return name


def is_strict(tool: dict[str, Any]) -> bool:
    """True if calls of a normalised tool must obey the schema of its arguments."""
    return tool["function"].get("strict") is True


def _wrapped(tool: dict[str, Any], place: int) -> dict[str, Any]:
    wrapped = tool if "function" in tool else {"type": "function", "function": tool}
    if wrapped.get("type", "function") != "function":
        raise InvalidRequest("a tool's type must be function", param=f"tools[{place}].type")
    function = wrapped["function"]
    if not isinstance(function, dict) or not isinstance(function.get("name"), str) or not function["name"]:
        raise InvalidRequest("a tool needs a name", param=f"tools[{place}].function.name")
    if not _NAME.fullmatch(function["name"]):
        raise InvalidRequest(
            f"a tool's name has 1 to 64 of the characters A-Z a-z 0-9 _ . -, unlike {function['name']!r:.80}",
            param=f"tools[{place}].function.name",
        )
    for field, kind in (("description", str), ("parameters", dict), ("strict", bool)):
        if not isinstance(function.get(field), kind | None):
            raise InvalidRequest(
                f"a tool's {field} must be {_KINDS[kind]}",
                param=f"tools[{place}].function.{field}",
            )
    return {**wrapped, "type": "function"}

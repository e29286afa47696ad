"""Copies data of scalars, lists and dicts for templates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from cactus_actors.protocol.errors import TemplateInvalid
from cactus_actors.tools.tool_prompting import ControlText

MAX_DEPTH = 64


def plain_data(value: Any, text: Callable[[str], str] = str, *, depth: int = MAX_DEPTH) -> Any:
    """A copy of `value` with `text` applied to every string value but ControlText; keys stay as they are.

    Raises TemplateInvalid for anything but strings, numbers, booleans, None, lists, and dicts of string keys.
    """
    if depth == 0:
        raise TemplateInvalid(f"messages nest deeper than {MAX_DEPTH} levels", param="messages")
    if isinstance(value, str):
        return str(value) if isinstance(value, ControlText) else text(value)
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, list | tuple):
        return [plain_data(item, text, depth=depth - 1) for item in value]
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {str(key): plain_data(item, text, depth=depth - 1) for key, item in value.items()}
    raise TemplateInvalid(f"a value of type {type(value).__name__} cannot be given to a template", param="messages")

"""Refuses requests that cannot fit the context before they are tokenized."""

from __future__ import annotations

from typing import Any

from cactus_actors.protocol.errors import ContextExceeded
from cactus_actors.router.preparation.prompt_model import PromptModel

MAX_CHARACTERS_PER_TOKEN = 64
"""No text with more characters for each token of the context fits it."""


def check_length(value: Any, field: str, model: PromptModel) -> None:
    """Raise ContextExceeded for plain data with more text than the context can hold."""
    num_characters = _num_characters(value)
    if num_characters > model.max_context * MAX_CHARACTERS_PER_TOKEN:
        raise ContextExceeded(
            f"{num_characters} characters cannot fit a context of {model.max_context} tokens", param=field
        )


def _num_characters(value: Any) -> int:
    """The characters of all text in plain data, at any depth."""
    total, pending = 0, [value]
    while pending:
        match pending.pop():
            case str() as text:
                total += len(text)
            case list() as items:
                pending += items
            case dict() as fields:
                pending += fields.keys()
                pending += fields.values()
    return total

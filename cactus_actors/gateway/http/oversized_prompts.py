"""Refuses prompts that cannot fit the context, before anything is converted, sent or tokenised."""

from __future__ import annotations

from typing import Any

from cactus_actors.protocol.errors import ContextExceeded

MAX_CHARACTERS_PER_TOKEN = 64
"""No text this much longer than the context fits it."""


def check_prompt_fits(body: dict[str, Any], max_context: int) -> None:
    """Raise ContextExceeded for more messages, items, token ids or text in `body` than a context holds."""
    messages, prompt, items = body.get("messages"), body.get("prompt"), body.get("input")
    context = f"a context of {max_context} tokens"
    if isinstance(messages, list) and len(messages) > max_context:
        raise ContextExceeded(f"{len(messages)} messages cannot fit {context}", param="messages")
    if isinstance(items, list) and items and isinstance(items[0], dict) and len(items) > max_context:
        raise ContextExceeded(f"{len(items)} items cannot fit {context}", param="input")
    if isinstance(prompt, list) and prompt and isinstance(prompt[0], int) and len(prompt) > max_context:
        raise ContextExceeded(f"{len(prompt)} token ids cannot fit {context}", param="prompt")
    if isinstance(prompt, str) and len(prompt) > max_context * MAX_CHARACTERS_PER_TOKEN:
        raise ContextExceeded(f"{len(prompt)} characters cannot fit {context}", param="prompt")

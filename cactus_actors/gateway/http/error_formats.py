"""The form of errors, which is that of the API whose path a request names."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from cactus_actors.api.anthropic import MESSAGES, anthropic_error_body
from cactus_actors.api.ollama import ollama_error_body
from cactus_actors.api.openai import error_body
from cactus_actors.protocol.error_info import ErrorInfo

ErrorFormat = Callable[[ErrorInfo, str], dict[str, Any]]
"""Makes the body of an error, given the id of the request."""

OLLAMA = "/api"


def error_format_of(path: str, *, is_mistral: bool) -> ErrorFormat:
    """The form for a path: that of Anthropic's or Ollama's, else OpenAI's, with Mistral's fields if `is_mistral`."""
    if path == MESSAGES or path.startswith(f"{MESSAGES}/"):
        return anthropic_error_body
    if path.startswith(f"{OLLAMA}/"):
        return ollama_error_body
    return partial(error_body, is_mistral=is_mistral)

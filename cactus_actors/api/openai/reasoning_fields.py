"""Reasoning in the bodies of chat completions: its request fields, and its place in the response.

Sources: the fields of the APIs of DeepSeek, OpenRouter and Anthropic, and of llama.cpp's and vLLM's servers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from cactus_actors.protocol.errors import InvalidRequest

ReasoningFormat = Literal["apart", "inline", "both", "hidden"]
"""Beside the content, in it, both, or omitted."""

FORMATS: dict[str, ReasoningFormat] = {
    "auto": "apart",
    "deepseek": "apart",
    "deepseek-legacy": "both",
    "none": "inline",
}
SWITCHES = {"enabled": True, "disabled": False, "adaptive": None, "between_tools": None, "auto": None}
_OPENING, _CLOSING = "<think>\n", "\n</think>\n\n"


class ReasoningObject(msgspec.Struct, frozen=True):
    """OpenRouter's `reasoning`."""

    enabled: bool | None = None
    effort: str | None = None
    max_tokens: int | None = None
    exclude: bool | None = None


class ThinkingObject(msgspec.Struct, frozen=True):
    """Anthropic's `thinking`, which others use without the budget."""

    type: str | None = None
    budget_tokens: int | None = None


class ReasoningFields(msgspec.Struct, frozen=True):
    """Fields of a chat body for reasoning, in addition to the options."""

    reasoning: ReasoningObject | None = None
    thinking: ThinkingObject | None = None
    reasoning_format: str | None = None


def with_spelled_options(body: Mapping[str, Any], asked: ReasoningFields) -> tuple[dict[str, Any], dict[str, str]]:
    """The body with the options that `reasoning` and `thinking` spell, and the paths of those options.

    Raises InvalidRequest for two spellings of one option with different values.
    """
    options: dict[str, Any] = {}
    paths: dict[str, str] = {}
    reasoning, thinking = asked.reasoning or ReasoningObject(), asked.thinking or ThinkingObject()
    if thinking.type is not None and thinking.type not in SWITCHES:
        raise InvalidRequest(f"thinking.type must be one of {', '.join(SWITCHES)}", param="thinking.type")
    for path, name, value in (
        ("reasoning.enabled", "enable_thinking", reasoning.enabled),
        ("reasoning.effort", "reasoning_effort", reasoning.effort),
        ("reasoning.max_tokens", "thinking_budget", reasoning.max_tokens),
        ("thinking.type", "enable_thinking", SWITCHES[thinking.type or "auto"]),
        ("thinking.budget_tokens", "thinking_budget", thinking.budget_tokens),
    ):
        if value is None:
            continue
        if options.get(name, body.get(name)) not in (None, value):
            first = paths.get(name, name)
            raise InvalidRequest(f"{first} and {path} are one field and were given two values", param=path)
        options[name] = value
        if body.get(name) is None:
            paths.setdefault(name, path)
    return {**body, **options}, paths


def reasoning_format(asked: ReasoningFields) -> ReasoningFormat:
    """The place of reasoning in the response; raises InvalidRequest for an unknown format."""
    if asked.reasoning is not None and asked.reasoning.exclude:
        return "hidden"
    name = asked.reasoning_format or "auto"
    if name not in FORMATS:
        raise InvalidRequest(f"reasoning_format must be one of {', '.join(FORMATS)}", param="reasoning_format")
    return FORMATS[name]


class WrittenReasoning:
    """One choice's reasoning as parts of its message, in any number of pieces."""

    def __init__(self, form: ReasoningFormat) -> None:
        self._form = form
        self._is_begun = self._is_ended = False

    def add(self, text: str) -> dict[str, str]:
        """Fields that more reasoning adds to the message; none if reasoning is omitted."""
        fields: dict[str, str] = {}
        if text and self._form in ("apart", "both"):
            fields = {"reasoning_content": text, "reasoning": text}
        if text and self._form in ("inline", "both"):
            fields["content"] = text if self._is_begun else _OPENING + text
            self._is_begun = True
        return fields

    def end(self) -> str:
        """Text of the content between reasoning and answer."""
        if not self._is_begun or self._is_ended:
            return ""
        self._is_ended = True
        return _CLOSING

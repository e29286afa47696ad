"""Detects in chat template and vocabulary the switches and marks of reasoning, and the form for earlier turns."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from cactus_actors.reasoning import MARKUPS
from cactus_actors.text.tokenizer import Tokenizer
from cactus_actors.tools.grammar_builder import control_ids

SWITCHES = ("enable_thinking", "thinking", "reasoning")
"""Variables of templates that make a model reason: Qwen and SmolLM; Granite and DeepSeek; Command-A."""

History = Literal["fields", "blocks", "nothing"]
_FIELDS = ("reasoning_content", "reasoning")
_OTHER_FIELDS = ("thinking", "thought")  # gpt-oss; Apriel
_IS_BLOCK = re.compile(r"==\s*['\"]thinking['\"]")


def markup_in_template(source: str) -> str | None:
    """The name in MARKUPS of a template's markup, None if it has no reasoning."""
    return next((name for name, markup in MARKUPS.items() if all(sign in source for sign in markup.signs)), None)


def markup_in_vocabulary(tokenizer: Tokenizer) -> str | None:
    """The name of the first entry of MARKUPS whose marks are tokens, None if there is none."""
    for name, markup in MARKUPS.items():
        marks = (markup.opens[0], markup.closes[0])
        if not markup.answers and all(tokenizer.id_of(mark) is not None for mark in marks):
            return name
    return None


def reasoning_tokens_of(markup: str, tokenizer: Tokenizer) -> tuple[tuple[int, str], ...]:
    """Id and text of the control tokens of `markup`, which must be rendered as text to find its marks."""
    return tuple((i, text) for text, i in control_ids(MARKUPS[markup].tokens, tokenizer).items())


class PastReasoning:
    """The form in which a template takes the reasoning of earlier turns.

    Some templates read fields of a message, some (Mistral's) blocks of its content; reasoning that none reads is left
    out.
    """

    def __init__(self, template_source: str) -> None:
        self.fields = _read_fields(template_source, _FIELDS)
        self.takes_blocks = not self.fields and _IS_BLOCK.search(template_source) is not None
        if not (self.fields or self.takes_blocks):
            self.fields = _read_fields(template_source, _OTHER_FIELDS)

    def given(self, messages: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """The messages with their `reasoning_content` where the template reads it."""
        return [self._given(message) for message in messages]

    def _given(self, message: Mapping[str, Any]) -> Mapping[str, Any]:
        reasoning = message.get("reasoning_content")
        rest = {name: value for name, value in message.items() if name != "reasoning_content"}
        if not reasoning:
            return rest if "reasoning_content" in message else message
        if self.takes_blocks:
            text = rest.get("content") or ""
            blocks = [{"type": "thinking", "thinking": reasoning}, {"type": "text", "text": text}]
            return {**rest, "content": blocks[: 2 if text else 1]}
        return {**rest, **dict.fromkeys(self.fields, reasoning)}


def without_reasoning(messages: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The messages without their reasoning."""
    return [{name: value for name, value in message.items() if name != "reasoning_content"} for message in messages]


def _read_fields(template_source: str, names: Sequence[str]) -> tuple[str, ...]:
    """The `names` that the template reads from a message, in any syntax."""
    return tuple(
        name
        for name in names
        if re.search(
            rf"\.{name}\b|\[\s*['\"]{name}['\"]\s*\]|get\(\s*['\"]{name}['\"]|['\"]{name}['\"]\s+(?:not\s+)?in\b",
            template_source,
        )
    )

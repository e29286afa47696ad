"""Detects a model's tool-call markup by its chat template and its vocabulary."""

from __future__ import annotations

import re

from cactus_actors.tools.grammar_builder import TokenNames, control_ids
from cactus_actors.tools.markup_table import MARKUPS, markup_named

_IN_VOCABULARY = (("<|tool_call_start|>", "lfm2"), ("[TOOL_CALLS]", "mistral"), ("<tool_call>", "hermes"))
"""A model fine-tuned for other calls keeps its base's vocabulary, so templates take precedence."""


def markup_of(template_source: str, tokenizer: TokenNames, *, is_for_tools: bool) -> str:
    """The name in MARKUPS of the model's markup; plain JSON if neither template nor vocabulary has one.

    `is_for_tools` is true if the template handles tools, calls or results.
    """
    if not is_for_tools:
        return "gemma" if "<start_of_turn>" in template_source else "json"
    for name, markup in MARKUPS.items():
        if markup.detect and re.search(markup.detect, template_source):
            return name
    return next((name for text, name in _IN_VOCABULARY if tokenizer.id_of(text) is not None), "json")


def tool_tokens_of(markup: str, tokenizer: TokenNames) -> tuple[tuple[int, str], ...]:
    """Id and text of the control tokens of `markup`, which must be rendered as text to find its calls."""
    return tuple((i, text) for text, i in control_ids(markup_named(markup).tokens, tokenizer).items())

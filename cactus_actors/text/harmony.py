"""Tokens that end an answer in OpenAI's harmony format."""

from __future__ import annotations

from cactus_actors.text.tokenizer import Tokenizer
from cactus_actors.tools.grammar_builder import control_ids

HARMONY_END_NAMES = frozenset({"<|return|>", "<|call|>"})
"""<|end|> ends one message of an answer, which may have several."""


def harmony_ends_of(tokenizer: Tokenizer) -> frozenset[int]:
    """The control tokens that end an answer or a call; none for vocabularies of other formats."""
    found = control_ids(sorted(HARMONY_END_NAMES), tokenizer)
    return frozenset(found.values()) if len(found) == len(HARMONY_END_NAMES) else frozenset()

"""The tokens of models for filling in the middle of a text."""

from __future__ import annotations

from typing import NamedTuple

from cactus_actors.text.tokenizer import Tokenizer
from cactus_actors.tools.grammar_builder import control_ids


class FillTokens(NamedTuple):
    """The ids before the prefix, before the suffix, and before the middle."""

    prefix: int
    suffix: int
    middle: int


# Spellings by the vocabularies of the models: Qwen2.5-Coder and CodeGemma; StarCoder, Granite and SmolLM;
# Code Llama; DeepSeek-Coder.
_SPELLINGS = (
    ("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"),
    ("<fim_prefix>", "<fim_suffix>", "<fim_middle>"),
    ("<fim-prefix>", "<fim-suffix>", "<fim-middle>"),
    ("▁<PRE>", "▁<SUF>", "▁<MID>"),
    ("<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>"),
)
# tokens that such a model writes after the middle: the end, padding, or the next file
_ENDS = (
    "<EOT>",
    "▁<EOT>",
    "<|fim_pad|>",
    "<fim_pad>",
    "<fim-pad>",
    "<|file_sep|>",
    "<|file_separator|>",
    "<file_sep>",
    "<|repo_name|>",
    "<reponame>",
)


def fill_tokens_of(tokenizer: Tokenizer) -> FillTokens | None:
    """The model's tokens for filling in, None if its vocabulary has none."""
    for spelling in _SPELLINGS:
        prefix, suffix, middle = (tokenizer.id_of(text) for text in spelling)
        if prefix is not None and suffix is not None and middle is not None:
            return FillTokens(prefix, suffix, middle)
    return None


def fill_ends_of(tokenizer: Tokenizer) -> frozenset[int]:
    """Control tokens that end a filled middle; none for a model that cannot fill."""
    return frozenset() if fill_tokens_of(tokenizer) is None else frozenset(control_ids(_ENDS, tokenizer).values())

"""Trains byte-level BPE tokenizers; each digit is a token."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

VOCABULARY_SIZE = 4096
END_OF_TEXT, TURN_START, TURN_END = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
# Marks of tool calls are single tokens that are kept in the decoded text, so they are not special.
CALL_START, CALL_END = "<tool_call>", "</tool_call>"
SPECIAL_TOKENS = (END_OF_TEXT, TURN_START, TURN_END, CALL_START, CALL_END)
_PIECES = r"'(?:s|m|t|re|ll|ve|d)| ?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


def train_tokenizer(
    texts: Iterable[str], size: int = VOCABULARY_SIZE, special_tokens: Sequence[str] = SPECIAL_TOKENS
) -> Tokenizer:
    """A tokenizer of `size` tokens, the special ones first."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_PIECES), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        min_frequency=2,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=list(special_tokens),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    # The trainer makes all of them special, and special tokens are not decoded.
    written = json.loads(tokenizer.to_str())
    for token in written["added_tokens"]:
        token["special"] = token["content"] not in (CALL_START, CALL_END)
    return Tokenizer.from_str(json.dumps(written))

"""A tokenizer of bytes and control tokens, and the first token that a grammar does not allow in a text."""

from __future__ import annotations

from pathlib import Path

from cactus_actors.structured.matcher import Matchers
from cactus_actors.text.tokenizer import Tokenizer
from tests.support.models.json_tokenizers import load_model

END = "<|end of text|>"


def tokenizer_of(directory: Path, *special: str) -> Tokenizer:
    return load_model(directory, *dict.fromkeys((END, *special))).tokenizer


def refused_at(tokenizer: Tokenizer, grammar: str, text: str) -> str | None:
    """The first token that the grammar does not allow; None where the text may end as it is."""
    end_id = tokenizer.id_of(END)
    assert end_id is not None
    matcher = Matchers(tokenizer, [end_id])(grammar)
    for token_id in tokenizer.encode(text, add_special=False):
        mask = matcher.bitmask()
        if not mask[token_id // 32] >> token_id % 32 & 1:
            return tokenizer.token_of(token_id)
        matcher.accept(token_id)
    may_end = matcher.is_finished or matcher.bitmask()[end_id // 32] >> end_id % 32 & 1
    return None if may_end else END

"""A model's vocabulary for the grammar engine."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from llguidance import LLTokenizer, TokenizerWrapper


class GrammarTokenizer(Protocol):
    """The part of a tokenizer that is needed to match tokens with text."""

    @property
    def vocab_size(self) -> int: ...

    def encode(self, text: str, *, add_special: bool, parse_special: bool = True) -> list[int]: ...

    def token_bytes(self, token_id: int) -> bytes: ...

    def is_special(self, token_id: int) -> bool: ...


def grammar_vocabulary(tokenizer: GrammarTokenizer, eos_ids: Iterable[int]) -> LLTokenizer:
    """The tokens of `tokenizer` with their bytes; control tokens and `eos_ids` have no text.

    Takes some tenths of a second for a large vocabulary.
    """
    end_ids = sorted(eos_ids)
    return LLTokenizer(_Vocabulary(tokenizer, end_ids), eos_token=end_ids or None)


class _Vocabulary(TokenizerWrapper):
    def __init__(self, tokenizer: GrammarTokenizer, end_ids: Sequence[int]) -> None:
        self.is_tokenizer_wrapper = True
        self.eos_token_id = end_ids[0] if end_ids else None  # type: ignore[assignment]  # None adds one
        self.bos_token_id = None
        ids = range(tokenizer.vocab_size)
        special = {token_id for token_id in ids if tokenizer.is_special(token_id)} | set(end_ids)
        self.special_token_ids = sorted(special)
        self.tokens = [
            b"<[%d]>" % token_id if token_id in special else tokenizer.token_bytes(token_id) for token_id in ids
        ]
        self._tokenizer = tokenizer
        self._id_of_bytes = {
            text: token_id for token_id, text in enumerate(self.tokens) if text and token_id not in special
        }
        self._longest = max(map(len, self._id_of_bytes), default=1)

    def __call__(self, s: str) -> list[int]:
        """The ids whose bytes are those of `s`, as the model's tokenizer would encode them if possible."""
        text = s.encode()
        ids = self._tokenizer.encode(s, add_special=False, parse_special=False)
        if b"".join(self.tokens[token_id] for token_id in ids) == text:
            return ids
        return self._longest_tokens(text)  # such as a tokenizer that puts a space in front

    def _longest_tokens(self, text: bytes) -> list[int]:
        ids: list[int] = []
        start = 0
        while start < len(text):
            ends = range(min(len(text), start + self._longest), start, -1)
            end = next((end for end in ends if text[start:end] in self._id_of_bytes), None)
            if end is None:  # no token begins with this byte: the model chooses the rest
                break
            ids.append(self._id_of_bytes[text[start:end]])
            start = end
        return ids

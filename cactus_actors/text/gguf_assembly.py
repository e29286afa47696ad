"""Makes a `Tokenizer` from a model of the `tokenizers` package and the other tokens of its GGUF file."""

from __future__ import annotations

from collections.abc import Callable

import tokenizers
from tokenizers import AddedToken
from tokenizers.models import Model

from cactus_actors.text.gguf_vocabulary import GGUFVocabulary, TokenType
from cactus_actors.text.tokenizer import Tokenizer, guarded

_PHI3_PLAIN_TOKENS = frozenset({"<unk>", "<s>", "<|endoftext|>"})


def assembled(
    vocabulary: GGUFVocabulary,
    inner: tokenizers.Tokenizer,
    token_bytes: list[bytes],
    *,
    byte_level: bool,
    bos_id: int | None,
    add_bos: bool,
    end_id: int | None = None,
) -> Tokenizer:
    """The tokenizer, after adding the tokens to `inner` that are matched literally in texts.

    `end_id` is appended to every text, unless it is None.
    """
    special_ids = vocabulary.ids_of(TokenType.CONTROL, TokenType.UNKNOWN)
    literal_ids = vocabulary.ids_of(TokenType.USER_DEFINED)
    inner.add_special_tokens(_added(vocabulary, special_ids, special=True))
    inner.add_tokens(_added(vocabulary, literal_ids, special=False))
    for token_id in special_ids:
        token_bytes[token_id] = b""
    return Tokenizer(
        inner,
        token_bytes=token_bytes,
        special_ids=special_ids,
        bos_id=bos_id,
        add_bos=add_bos,
        end_id=end_id,
        byte_level=byte_level,
    )


def inner_of(vocabulary: GGUFVocabulary, model: Callable[[], Model]) -> tokenizers.Tokenizer:
    """The tokenizer of a model; ModelFileInvalid if the vocabulary makes none."""
    return guarded(vocabulary.path, "the vocabulary is not usable", lambda: tokenizers.Tokenizer(model()))


def first_ids(tokens: list[str]) -> dict[str, int]:
    """Token -> id; of two tokens with the same text the first is the one that encoding yields."""
    return {token: token_id for token_id, token in reversed(list(enumerate(tokens)))}


def _added(vocabulary: GGUFVocabulary, ids: list[int], *, special: bool) -> list[AddedToken]:
    texts = (vocabulary.tokens[token_id] for token_id in ids)
    return [
        AddedToken(text, special=special, normalized=False, rstrip=special and _strips(vocabulary, text))
        for text in texts
        if text
    ]


def _strips(vocabulary: GGUFVocabulary, text: str) -> bool:
    """True if the control token `text` includes the white space after it.

    In tokenizer.json each token says so; GGUF files cannot, and of the models here those of the name Phi-3
    with a SentencePiece vocabulary do so, for the tokens of their turns.
    """
    is_phi3 = vocabulary.architecture == "phi3" and vocabulary.metadata["tokenizer.ggml.model"] == "llama"
    return is_phi3 and text not in _PHI3_PLAIN_TOKENS

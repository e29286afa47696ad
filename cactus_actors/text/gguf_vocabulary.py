"""The tokenizer in the metadata of a GGUF file, rebuilt with the `tokenizers` package."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers
from tokenizers import AddedToken, models, normalizers

from cactus_actors.models.files import invalid
from cactus_actors.models.gguf_file import GGUFFile
from cactus_actors.text.pre_tokenizers import ADDS_BOS, LOOKS_UP_WHOLE_WORDS, SUPPORTED, pre_tokenizer
from cactus_actors.text.tokenizer import (
    Tokenizer,
    byte_level_bytes,
    byte_of_character,
    guarded,
    sentencepiece_bytes,
)

NO_TOKEN = 0xFFFFFFFF

# Tokens that end a turn or a text in the chat formats of well-known models; a control token of such a name
# ends generation even where the file does not say so.
_END_NAMES = frozenset(
    {"<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|end|>", "<end_of_turn>", "<|endoftext|>", "<|end_of_text|>"}
)


class TokenType(IntEnum):
    """The kinds of tokens in `tokenizer.ggml.token_type`."""

    NORMAL = 1
    UNKNOWN = 2
    CONTROL = 3
    USER_DEFINED = 4
    UNUSED = 5
    BYTE = 6


@dataclass(frozen=True)
class Vocabulary:
    """The checked tokenizer keys of one GGUF file."""

    path: Path
    metadata: Any
    tokens: list[str]
    types: list[int]

    @classmethod
    def of(cls, file: GGUFFile) -> Vocabulary:
        """Reads and checks the tokens and their types."""
        tokens = file.metadata.get("tokenizer.ggml.tokens")
        if not isinstance(tokens, list) or not tokens:
            raise invalid(file.path, "tokenizer.ggml.tokens is missing or not a list of strings")
        types = file.metadata.get("tokenizer.ggml.token_type")
        if types is None:
            types = np.full(len(tokens), TokenType.NORMAL)
        if not isinstance(types, np.ndarray) or len(types) != len(tokens):
            raise invalid(file.path, f"tokenizer.ggml.token_type must have {len(tokens)} entries")
        return cls(file.path, file.metadata, tokens, [int(kind) for kind in types])

    def token_id(self, key: str) -> int | None:
        """The token id under `tokenizer.ggml.{key}_token_id`, None if there is none."""
        value = self.metadata.get(f"tokenizer.ggml.{key}_token_id")
        if value is None or value == NO_TOKEN or value == -1:
            return None
        if type(value) is not int or not 0 <= value < len(self.tokens):
            raise invalid(
                self.path,
                f"tokenizer.ggml.{key}_token_id is {value!r:.50}, not one of {len(self.tokens)} tokens",
            )
        return value

    def flag(self, key: str, *, default: bool) -> bool:
        """The boolean under `tokenizer.ggml.{key}`."""
        value = self.metadata.get(f"tokenizer.ggml.{key}", default)
        if type(value) is not bool:
            raise invalid(self.path, f"tokenizer.ggml.{key} must be a boolean")
        return value

    def ids_of(self, *kinds: TokenType) -> list[int]:
        """The ids of all tokens of these kinds."""
        return [token_id for token_id, kind in enumerate(self.types) if kind in kinds]

    def end_ids(self) -> frozenset[int]:
        """The tokens that end generation."""
        declared = {self.token_id(key) for key in ("eos", "eot", "eom")}
        named = {i for i in self.ids_of(TokenType.CONTROL) if self.tokens[i] in _END_NAMES}
        return frozenset(token_id for token_id in declared | named if token_id is not None)

    def special_tokens(self) -> dict[str, str]:
        """Name -> text of the special tokens that a chat template may ask for."""
        ids = {f"{key}_token": self.token_id(key) for key in ("bos", "eos", "padding", "unknown")}
        names = {"padding_token": "pad_token", "unknown_token": "unk_token"}
        return {names.get(name, name): self.tokens[i] for name, i in ids.items() if i is not None}


def tokenizer_from_gguf(file: GGUFFile) -> Tokenizer:
    """The tokenizer of a GGUF file; ModelFileInvalid names the key that is wrong or not supported."""
    vocabulary = Vocabulary.of(file)
    model = file.metadata.get("tokenizer.ggml.model")
    if model == "llama":
        return _sentencepiece(vocabulary)
    if model == "gpt2":
        return _byte_level(vocabulary)
    raise invalid(file.path, f"tokenizer.ggml.model is {model!r:.50}; supported: llama, gpt2")


def _sentencepiece(vocabulary: Vocabulary) -> Tokenizer:
    """A SentencePiece vocabulary as a merging tokenizer with byte fallback.

    SentencePiece joins the two neighbours whose union has the best score. So every way to split a token into
    two others becomes a merge, ranked by the score of the token; equal scores rank by id, the order in which
    a trainer makes them.
    """
    scores = vocabulary.metadata.get("tokenizer.ggml.scores")
    if not isinstance(scores, np.ndarray) or len(scores) != len(vocabulary.tokens):
        raise invalid(vocabulary.path, f"tokenizer.ggml.scores must have {len(vocabulary.tokens)} entries")
    ids = _first_ids(vocabulary.tokens)
    joinable = {vocabulary.tokens[i] for i in vocabulary.ids_of(TokenType.NORMAL, TokenType.USER_DEFINED)}
    ranked = sorted(joinable, key=lambda token: (-float(scores[ids[token]]), ids[token]))
    merges = [
        (token[:cut], token[cut:])
        for token in ranked
        for cut in range(1, len(token))
        if token[:cut] in joinable and token[cut:] in joinable
    ]
    unknown = vocabulary.token_id("unknown")
    inner = guarded(
        vocabulary.path,
        "the vocabulary is not usable",
        lambda: tokenizers.Tokenizer(
            models.BPE(
                ids,
                merges,
                unk_token=None if unknown is None else vocabulary.tokens[unknown],
                fuse_unk=True,
                byte_fallback=True,
            )
        ),
    )
    space = normalizers.Replace(" ", "\u2581")
    if vocabulary.flag("add_space_prefix", default=True):
        inner.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), space])
    else:
        inner.normalizer = space
    token_bytes = [sentencepiece_bytes(token) for token in vocabulary.tokens]
    return _finished(vocabulary, inner, token_bytes, add_bos=True, byte_level=False)


def _byte_level(vocabulary: Vocabulary) -> Tokenizer:
    name = vocabulary.metadata.get("tokenizer.ggml.pre", "default")
    splitter = pre_tokenizer(name) if isinstance(name, str) else None
    if splitter is None:
        raise invalid(
            vocabulary.path, f"tokenizer.ggml.pre is {name!r:.50}; supported: {', '.join(SUPPORTED)}"
        )
    stored = vocabulary.metadata.get("tokenizer.ggml.merges")
    if not isinstance(stored, list):
        raise invalid(vocabulary.path, "tokenizer.ggml.merges is missing or not a list of strings")
    # A merge is two tokens with a space between; a space itself is spelled otherwise in these vocabularies.
    merges = [(left, right) for left, _, right in (merge.partition(" ") for merge in stored)]
    inner = guarded(
        vocabulary.path,
        "the vocabulary or its merges are not usable",
        lambda: tokenizers.Tokenizer(
            models.BPE(_first_ids(vocabulary.tokens), merges, ignore_merges=name in LOOKS_UP_WHOLE_WORDS)
        ),
    )
    inner.pre_tokenizer = splitter
    table = byte_of_character()
    literal = set(vocabulary.ids_of(TokenType.USER_DEFINED))
    token_bytes = [
        token.encode() if token_id in literal else byte_level_bytes(token, table)
        for token_id, token in enumerate(vocabulary.tokens)
    ]
    return _finished(vocabulary, inner, token_bytes, add_bos=name in ADDS_BOS, byte_level=True)


def _finished(
    vocabulary: Vocabulary,
    inner: tokenizers.Tokenizer,
    token_bytes: list[bytes],
    *,
    add_bos: bool,
    byte_level: bool,
) -> Tokenizer:
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
        bos_id=vocabulary.token_id("bos"),
        add_bos=vocabulary.flag("add_bos_token", default=add_bos),
        byte_level=byte_level,
    )


def _added(vocabulary: Vocabulary, ids: list[int], *, special: bool) -> list[AddedToken]:
    texts = (vocabulary.tokens[token_id] for token_id in ids)
    return [AddedToken(text, special=special, normalized=False) for text in texts if text]


def _first_ids(tokens: list[str]) -> dict[str, int]:
    """Token -> id; of two tokens with the same text the first is the one that encoding yields."""
    return {token: token_id for token_id, token in reversed(list(enumerate(tokens)))}

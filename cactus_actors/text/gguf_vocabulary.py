"""The checked tokenizer keys of a GGUF file."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cactus_actors.models.checked_files import invalid
from cactus_actors.models.gguf_file import GGUFFile
from cactus_actors.text.harmony import HARMONY_END_NAMES

NO_TOKEN = 0xFFFFFFFF
MAX_TOKEN_CHARACTERS = 1024  # every place to cut a token is examined

# Tokens that end a turn or a text in the chat formats of well-known models: control tokens that end
# generation, even where the file calls them text or names another end.
_END_NAMES = frozenset(
    {
        *("<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|end|>", "<end_of_turn>", "<turn|>"),
        *("<|endoftext|>", "<|end_of_text|>"),
    }
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
class GGUFVocabulary:
    """The checked tokenizer keys of one GGUF file."""

    path: Path
    metadata: Any
    tokens: list[str]
    types: list[int]

    @classmethod
    def of(cls, file: GGUFFile) -> GGUFVocabulary:
        """Reads and checks the tokens and their types."""
        tokens = file.metadata.get("tokenizer.ggml.tokens")
        if not isinstance(tokens, list) or not tokens:
            raise invalid(file.path, "tokenizer.ggml.tokens is missing or not a list of strings")
        longest = max(map(len, tokens))
        if longest > MAX_TOKEN_CHARACTERS:
            raise invalid(file.path, f"a token of {longest} characters ({MAX_TOKEN_CHARACTERS} allowed)")
        types = file.metadata.get("tokenizer.ggml.token_type")
        if types is None:
            types = np.full(len(tokens), TokenType.NORMAL)
        if not isinstance(types, np.ndarray) or types.dtype.kind not in "iu" or len(types) != len(tokens):
            raise invalid(file.path, f"tokenizer.ggml.token_type must be {len(tokens)} integers")
        kinds = [
            TokenType.CONTROL if token in _END_NAMES else int(kind) for token, kind in zip(tokens, types, strict=True)
        ]
        return cls(file.path, file.metadata, tokens, kinds)

    @property
    def architecture(self) -> str:
        """The file's name for the model's family."""
        return str(self.metadata.get("general.architecture"))

    def scores(self) -> NDArray[Any]:
        """The number of each token under `tokenizer.ggml.scores`."""
        scores = self.metadata.get("tokenizer.ggml.scores")
        if not isinstance(scores, np.ndarray) or len(scores) != len(self.tokens) or np.isnan(scores).any():
            raise invalid(self.path, f"tokenizer.ggml.scores must be {len(self.tokens)} numbers")
        return scores

    def token_id(self, key: str) -> int | None:
        """The token id under `tokenizer.ggml.{key}_token_id`, None if there is none."""
        value = self.metadata.get(f"tokenizer.ggml.{key}_token_id")
        if value is None or (type(value) is int and value in (NO_TOKEN, -1)):
            return None
        if type(value) is not int or not 0 <= value < len(self.tokens):
            raise invalid(
                self.path,
                f"tokenizer.ggml.{key}_token_id is {value!r:.50}, not one of {len(self.tokens)} tokens",
            )
        return value

    def unknown_id(self) -> int:
        """The token for unknown text; raises ModelFileInvalid if there is none."""
        unknown = self.token_id("unknown")
        if unknown is None:
            raise invalid(self.path, "tokenizer.ggml.unknown_token_id is missing")
        return unknown

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
        is_harmony = set(self.tokens) >= HARMONY_END_NAMES
        names = _END_NAMES - {"<|end|>"} | HARMONY_END_NAMES if is_harmony else _END_NAMES
        named = {i for i in self.ids_of(TokenType.CONTROL) if self.tokens[i] in names}
        return frozenset(token_id for token_id in declared | named if token_id is not None)

    def special_tokens(self) -> dict[str, str]:
        """Name -> text of the special tokens that a chat template may use."""
        ids = {f"{key}_token": self.token_id(key) for key in ("bos", "eos", "padding", "unknown")}
        names = {"padding_token": "pad_token", "unknown_token": "unk_token"}
        return {names.get(name, name): self.tokens[i] for name, i in ids.items() if i is not None}

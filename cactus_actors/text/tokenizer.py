"""Converts text to token ids and back, exact to the byte."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import tokenizers
from tokenizers import pre_tokenizers

from cactus_actors.models.checked_files import invalid
from cactus_actors.protocol.errors import RequestTooComplex

Result = TypeVar("Result")

# A noncharacter of Unicode: inside a text that looks like a control token, it prevents the token, and it is removed
# before text is split into tokens.
BREAK = "\ufdd0"
REPLACEMENT = "\ufffd"


class Tokenizer:
    """A tokenizer with the exact bytes of every token and one rule for the beginning-of-sequence token."""

    def __init__(
        self,
        inner: tokenizers.Tokenizer,
        *,
        token_bytes: list[bytes],
        special_ids: Iterable[int],
        bos_id: int | None,
        add_bos: bool,
        byte_level: bool,
        end_id: int | None = None,
    ) -> None:
        remove_breaks = pre_tokenizers.Split(BREAK, "removed")
        existing = [inner.pre_tokenizer] if inner.pre_tokenizer is not None else []
        steps = [remove_breaks, *existing] if byte_level else [*existing, remove_breaks]
        inner.pre_tokenizer = pre_tokenizers.Sequence(steps)
        self._inner = inner
        self._token_bytes = token_bytes
        self._special_ids = frozenset(special_ids)
        self._add_bos = add_bos and bos_id is not None
        self._end_id = end_id
        self.bos_id = bos_id

    @property
    def vocab_size(self) -> int:
        """One more than the largest token id."""
        return len(self._token_bytes)

    def encode(self, text: str, *, add_special: bool, parse_special: bool = True) -> list[int]:
        """The token ids of `text`.

        `add_special` puts the beginning-of-sequence token in front if the model wants one and the text does not
        begin with it already; embedding models may need another one at the end. Without `parse_special` nothing in
        `text` becomes a control token. Raises RequestTooComplex if one of the tokenizer's expressions fails on the
        text.
        """
        if not parse_special:
            text = self.shield(text)
        ids = self._ids_of(text)
        if not add_special:
            return ids
        if self._add_bos and self.bos_id is not None and ids[:1] != [self.bos_id]:
            ids = [self.bos_id, *ids]
        if self._end_id is not None and ids[-1:] != [self._end_id]:
            ids = [*ids, self._end_id]
        return ids

    def _ids_of(self, text: str) -> list[int]:
        try:
            ids: list[int] = self._inner.encode(text, add_special_tokens=False).ids
        except (KeyboardInterrupt, SystemExit, MemoryError):
            raise
        except BaseException as error:  # a Rust panic is a BaseException of no public type
            raise RequestTooComplex("the model's tokenizer gives up on this text") from error
        return ids

    def shield(self, text: str) -> str:
        """`text` with a mark inside each text that looks like a control token, so that it is encoded as text."""
        text = text.replace(BREAK, REPLACEMENT)
        if self._special_texts is None:
            return text
        return self._special_texts.sub(rf"\1{BREAK}", text)

    def decode(self, ids: Iterable[int]) -> str:
        """The text of `ids`: their bytes in sequence, with invalid UTF-8 replaced by U+FFFD."""
        return b"".join(map(self.token_bytes, ids)).decode("utf-8", errors="replace")

    def token_bytes(self, token_id: int) -> bytes:
        """The bytes of a token; none for a control token or an id beyond the vocabulary."""
        return self._token_bytes[token_id] if 0 <= token_id < len(self._token_bytes) else b""

    def id_of(self, token: str) -> int | None:
        """The id of the token that is written `token` in the vocabulary, None if there is none."""
        token_id: int | None = self._inner.token_to_id(token)
        return token_id

    def token_of(self, token_id: int) -> str | None:
        """The token's spelling in the vocabulary; None for an id beyond it."""
        token: str | None = self._inner.id_to_token(token_id)
        return token

    def is_special(self, token_id: int) -> bool:
        """True for a control token, which has no text."""
        return token_id in self._special_ids

    @cached_property
    def _special_texts(self) -> re.Pattern[str] | None:
        """Finds the first character of each text that would be read as a control token, overlapping ones too."""
        decoder = self._inner.get_added_tokens_decoder()
        texts = [decoder[i].content for i in self._special_ids if i in decoder and len(decoder[i].content) > 1]
        if not texts:
            return None
        return re.compile(rf"(?=(?:{'|'.join(map(re.escape, texts))}))(.)", re.DOTALL)


def byte_of_character() -> dict[str, int]:
    """Character of a byte-level vocabulary -> byte.

    Printable Latin-1 characters are their own byte; the other bytes have the characters from U+0100 upward,
    in order (the byte-to-unicode table of GPT-2).
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in set(printable)]
    return {chr(byte): byte for byte in printable} | {chr(0x100 + n): byte for n, byte in enumerate(others)}


def byte_level_bytes(token: str, table: dict[str, int]) -> bytes:
    """The bytes of a token of a byte-level vocabulary; a character outside `table` keeps its UTF-8 bytes."""
    try:
        return bytes(table[character] for character in token)
    except KeyError:
        return token.encode()


def sentencepiece_bytes(token: str) -> bytes:
    """The bytes of a token of a SentencePiece vocabulary: `<0x0A>` is a byte, U+2581 is a space."""
    if match := re.fullmatch(r"<0x([0-9A-Fa-f]{2})>", token):
        return bytes.fromhex(match[1])
    return token.replace("\u2581", " ").encode()


def guarded(path: Path, what: str, build: Callable[[], Result]) -> Result:
    """The result of `build`, which uses the `tokenizers` package; ModelFileInvalid if the package refuses or panics."""
    try:
        return build()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a Rust panic is a BaseException of no public type
        raise invalid(path, f"{what}: {str(error)[:300]}") from error

"""The text side of a model that has no files: prompts come as token ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from benchmarks.router_loop.fake_worker import MODEL


class FakeTokenizer:
    """Tokens are numbers; there are no texts to encode."""

    vocab_size = 65_536
    bos_id: int | None = None

    def encode(self, text: str, **_: bool) -> list[int]:
        return [ord(letter) for letter in text]

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(map(chr, ids))

    def token_bytes(self, token_id: int) -> bytes:
        return chr(token_id).encode(errors="replace")

    def token_of(self, token_id: int) -> str | None:
        return chr(token_id)

    def id_of(self, token: str) -> int | None:
        return ord(token) if len(token) == 1 else None

    def is_special(self, token_id: int) -> bool:
        return token_id < 0


class FakeModel:
    """Accepts any length, so that jobs last as long as configured, and no conversations."""

    name = MODEL
    fingerprint = ""
    max_context = 1 << 20
    has_chat_template = False
    tool_markup: str | None = None
    tool_tokens: tuple[tuple[int, str], ...] = ()
    fill_tokens: tuple[int, int, int] | None = None
    reasoning = None
    pictures = None

    def __init__(self) -> None:
        self.tokenizer = FakeTokenizer()

    def chat_prompt(self, *_: Any, **__: Any) -> NoReturn:
        raise NotImplementedError

"""What preparing a job needs of a model: its text side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol


class PromptTokenizer(Protocol):
    """The part of a tokenizer that is needed here."""

    @property
    def vocab_size(self) -> int: ...

    @property
    def bos_id(self) -> int | None: ...

    def encode(self, text: str, *, add_special: bool, parse_special: bool = True) -> list[int]: ...

    def decode(self, ids: Sequence[int]) -> str: ...

    def token_bytes(self, token_id: int) -> bytes: ...

    def token_of(self, token_id: int) -> str | None: ...

    def id_of(self, token: str) -> int | None: ...

    def is_special(self, token_id: int) -> bool: ...


class PromptModel(Protocol):
    """The part of a TextModel that is needed here."""

    @property
    def name(self) -> str: ...

    @property
    def tokenizer(self) -> PromptTokenizer: ...

    @property
    def max_context(self) -> int: ...

    @property
    def tool_markup(self) -> str | None: ...

    @property
    def tool_tokens(self) -> tuple[tuple[int, str], ...]: ...

    @property
    def fill_tokens(self) -> tuple[int, int, int] | None: ...

    def encode_chat(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]] | None = None,
        *,
        answer_begins: str = "",
        reasoning: bool = False,
    ) -> list[int]: ...

"""The parts of a model that preparation uses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from cactus_actors.text.chat_prompt import ChatPrompt
from cactus_actors.text.model_reasoning import ModelReasoning
from cactus_actors.vision.picture_processor import PictureProcessor, ProcessedPicture


class PromptTokenizer(Protocol):
    """The part of a tokenizer that is used here."""

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
    """The part of a TextModel that is used here."""

    @property
    def name(self) -> str: ...

    @property
    def fingerprint(self) -> str: ...

    @property
    def tokenizer(self) -> PromptTokenizer: ...

    @property
    def max_context(self) -> int: ...

    @property
    def has_chat_template(self) -> bool: ...

    @property
    def tool_markup(self) -> str | None: ...

    @property
    def tool_tokens(self) -> tuple[tuple[int, str], ...]: ...

    @property
    def fill_tokens(self) -> tuple[int, int, int] | None: ...

    @property
    def pictures(self) -> PictureProcessor | None: ...

    @property
    def reasoning(self) -> ModelReasoning | None: ...

    def chat_prompt(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]] | None = None,
        *,
        answer_begins: str = "",
        answer_reasoning: str = "",
        thinking: bool | None = None,
        needs_switch: bool = False,
        variables: Mapping[str, Any] | None = None,
        pictures: Sequence[ProcessedPicture] = (),
    ) -> ChatPrompt: ...

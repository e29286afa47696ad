"""The text side of a model without files: one token per letter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cactus_actors.text.chat_prompt import ChatPrompt
from cactus_actors.text.model_reasoning import ModelReasoning
from cactus_actors.vision.picture_processor import PictureProcessor, ProcessedPicture


class LetterTokenizer:
    """One token per character; `<s>` is a start token."""

    vocab_size = 128
    bos_id: int | None = 1

    def encode(self, text: str, *, add_special: bool, parse_special: bool = True) -> list[int]:
        return [1] * add_special + [min(ord(letter), 127) for letter in text]

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(chr(token_id) for token_id in ids if token_id > 1)

    def token_bytes(self, token_id: int) -> bytes:
        return b"" if token_id <= 1 else bytes([token_id])

    def token_of(self, token_id: int) -> str | None:
        return "<s>" if token_id == 1 else chr(token_id)

    def id_of(self, token: str) -> int | None:
        return 1 if token == "<s>" else None

    def is_special(self, token_id: int) -> bool:
        return token_id <= 1


class LetterModel:
    """The text side of a model without files; `tools` and `reasoning` are put in front of its prompts."""

    name = "letters"
    fingerprint = ""
    max_context = 4096
    has_chat_template = True
    tool_markup: str | None = "hermes"
    tool_tokens: tuple[tuple[int, str], ...] = ()
    fill_tokens: tuple[int, int, int] | None = (2, 3, 4)
    reasoning: ModelReasoning | None = None
    pictures: PictureProcessor | None = None

    def __init__(self) -> None:
        self.tokenizer = LetterTokenizer()

    def chat_prompt(
        self,
        messages: Sequence[Any],
        tools: Sequence[Any] | None = None,
        *,
        answer_begins: str = "",
        answer_reasoning: str = "",
        thinking: bool | None = None,
        needs_switch: bool = False,
        variables: Mapping[str, Any] | None = None,
        pictures: Sequence[ProcessedPicture] = (),
    ) -> ChatPrompt:
        names = [f"[{tool['function']['name']}]" for tool in tools or ()]
        turns = "|".join(message.get("content") or "" for message in messages)
        text = "".join([*names, "[reason]" * bool(thinking), turns, ">" * bool(answer_begins), answer_begins])
        return ChatPrompt(self.tokenizer.encode(text, add_special=True), "answer" if answer_begins else "undecided")

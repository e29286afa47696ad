"""The text and the tokens of a conversation, by the template that is published with the model."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2.sandbox import ImmutableSandboxedEnvironment
from tokenizers import Tokenizer

from training.corpus.sample import Message, Sample

MODEL_DIRECTORY = Path(__file__).parent.parent / "cactus_actors" / "models" / "cactus-sprout"
PICTURE_MODEL_DIRECTORY = MODEL_DIRECTORY.parent / "cactus-bloom"
ASSISTANT_OPENING = "<|im_start|>assistant\n"


class Chat:
    """Renders conversations and counts them in tokens; the tokenizer may be set later, once it is trained."""

    def __init__(self, directory: Path = MODEL_DIRECTORY) -> None:
        environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
        environment.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
        self._template = environment.from_string((directory / "chat_template.jinja").read_text())

    def render(
        self,
        messages: Sequence[Message],
        tools: Sequence[Mapping[str, Any]] = (),
        add_generation_prompt: bool = False,
    ) -> str:
        return self._template.render(messages=messages, tools=list(tools), add_generation_prompt=add_generation_prompt)

    def tokens_and_answers(self, tokenizer: Tokenizer, sample: Sample) -> tuple[list[int], list[bool]]:
        """Return a sample's tokens, and for each True if it is the assistant's (its end of turn included)."""
        pieces = self.render(sample.messages, sample.tools).split(ASSISTANT_OPENING)
        tokens: list[int] = []
        is_answer: list[bool] = []

        def append(text: str, answer: bool) -> None:
            ids = tokenizer.encode(text, add_special_tokens=False).ids
            tokens.extend(ids)
            is_answer.extend([answer] * len(ids))

        for place, piece in enumerate(pieces):
            answer, end, rest = piece.partition("<|im_end|>") if place else ("", "", piece)
            append(answer + end, True)
            append(rest + (ASSISTANT_OPENING if place + 1 < len(pieces) else ""), False)
        return tokens, is_answer

"""A chat completion that a cloud may be asked for, apart from the cloud's model."""

from __future__ import annotations

from typing import Any

import msgspec


class CloudQuestion(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The fields of the request's body, with OpenAI's names and meanings."""

    messages: list[dict[str, Any]]
    max_tokens: int
    temperature: float
    top_p: float
    seed: int
    stop: list[str] = []
    tools: list[dict[str, Any]] | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None

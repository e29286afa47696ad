"""A part of a message of a conversation."""

from __future__ import annotations

from typing import Any

import msgspec


class ContentPart(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A part of a message; `type` is `text`, `thinking` (a text, or parts that are texts), or the name of a medium."""

    type: str
    text: str | None = None
    image_url: Any = None
    thinking: Any = None

"""Replacements for parts of a model's own files, and the file of its encoder of pictures."""

from __future__ import annotations

import msgspec


class ModelOverrides(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings `chat_template`, `tool_format` and `mmproj` of ServeConfig, with absolute paths."""

    chat_template: str | None = None
    tool_format: str | None = None
    mmproj: str | None = None


NO_OVERRIDES = ModelOverrides()

"""Replacements for a model's own chat template and tool-call markup."""

from __future__ import annotations

from pathlib import Path

from cactus_actors.models.checked_files import invalid, read_bytes
from cactus_actors.protocol.errors import ConfigurationInvalid
from cactus_actors.protocol.model_overrides import ModelOverrides
from cactus_actors.tools.markup_table import MARKUPS

MAX_BYTES = 4 << 20


def template_source(overrides: ModelOverrides) -> tuple[Path, str] | None:
    """File and text of the given template; ModelFileInvalid names one that cannot be read."""
    if overrides.chat_template is None:
        return None
    path = Path(overrides.chat_template)
    try:
        return path, read_bytes(path, max_bytes=MAX_BYTES).decode()
    except UnicodeDecodeError:
        raise invalid(path, "not valid UTF-8") from None


def tool_format(overrides: ModelOverrides) -> str | None:
    """The given name in MARKUPS; raises ConfigurationInvalid for an unknown one."""
    name = overrides.tool_format
    if name is not None and name not in MARKUPS:
        raise ConfigurationInvalid(
            f"tool_format must be one of {', '.join(sorted(MARKUPS))}, got {name[:80]!r}", param="tool_format"
        )
    return name

"""A tiny checkpoint: its config.json, and the changes of it that must change its logits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class Family:
    """One checkpoint. `matters` are changes of the config that must change its logits."""

    name: str
    stands_for: str
    storage: Literal["bfloat16", "float16"]
    prompt_length: int
    config: dict[str, Any]
    matters: tuple[dict[str, Any], ...] = ()

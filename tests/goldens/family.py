"""A tiny checkpoint: what its config.json says, and which changes of it must show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class Family:
    """One checkpoint. `matters` are changes of the config that must show in its logits."""

    name: str
    stands_for: str
    storage: Literal["bfloat16", "float16"]
    prompt_length: int
    config: dict[str, Any]
    matters: tuple[dict[str, Any], ...] = ()

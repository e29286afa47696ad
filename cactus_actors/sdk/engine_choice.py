"""Which model runs in this process, and how."""

from __future__ import annotations

from dataclasses import dataclass

from cactus_actors.config_models import WeightFormat


@dataclass(frozen=True, kw_only=True)
class EngineChoice:
    """The model of a path or name, and how it runs: `max_sequences` jobs at once, or all that its cache holds."""

    model: str
    weights: WeightFormat = "int8"
    threads: int = 1
    max_sequences: int | None = 1

"""Which model runs in this process, and how."""

from __future__ import annotations

from dataclasses import dataclass

from cactus_actors.config_models import WeightFormat


@dataclass(frozen=True, kw_only=True)
class EngineChoice:
    """The model of a path or name, and how it runs: at most `max_sequences` jobs at once."""

    model: str
    weights: WeightFormat = "int8"
    threads: int = 1
    max_sequences: int = 1

"""How many workers a model has: a range, and the section `[scaling]` of a configuration."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from cactus_actors.setting_types import DayOrLess, about

MAX_WORKERS = 256


class WorkerRange(msgspec.Struct, frozen=True):
    """The least and the most workers of a model."""

    low: int
    high: int

    def clip(self, num_workers: float) -> float:
        """The nearest number in the range."""
        return max(self.low, min(self.high, num_workers))


class ScalingSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The section `[scaling]`: the sizes of models whose `workers` are a range, LEAST:MOST."""

    queue_s: Annotated[DayOrLess, about("Seconds in which 95 of 100 jobs shall leave the queue.")] = 1.0
    first_token_s: Annotated[
        DayOrLess | None, about("Seconds in which 95 of 100 jobs shall have their first token; without it, no target.")
    ] = 5.0
    down_after_s: Annotated[DayOrLess, about("Seconds of less work after which workers are ended.")] = 120.0
    background_workers: Annotated[
        Annotated[int, Meta(ge=1, le=MAX_WORKERS)] | None,
        about("Workers that work of a priority above 0 alone may bring up; without it, as many as other work."),
    ] = None

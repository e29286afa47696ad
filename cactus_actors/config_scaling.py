"""How many workers a model has: a range, and the section `[scaling]` of a configuration."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from cactus_actors.protocol.errors import ConfigurationInvalid
from cactus_actors.setting_types import DayOrLess, about

MAX_WORKERS = 256
WorkerCount = Annotated[int, Meta(ge=0, le=MAX_WORKERS)] | str
"""A number of workers, or their least and most as `LEAST:MOST`."""


class WorkerRange(msgspec.Struct, frozen=True):
    """The least and the most workers of a model."""

    low: int
    high: int

    def __str__(self) -> str:
        return f"{self.low}:{self.high}"

    @property
    def is_fixed(self) -> bool:
        """True if there is nothing to decide."""
        return self.low == self.high

    @property
    def begins_unloaded(self) -> bool:
        """True if the first job starts the first worker."""
        return self.low == 0 < self.high

    @property
    def num_at_start(self) -> int:
        """The workers that a model has at first, or with its first job."""
        return max(self.low, min(1, self.high))

    def clip(self, num_workers: float) -> float:
        """The nearest number in the range."""
        return max(self.low, min(self.high, num_workers))

    def within(self, most: int) -> WorkerRange:
        """At most that many workers, but never fewer than the least."""
        return WorkerRange(self.low, max(self.low, min(self.high, most)))


def worker_range(workers: WorkerCount) -> WorkerRange:
    """The range of a setting; raises ConfigurationInvalid."""
    low, colon, high = str(workers).partition(":")
    if not (low.isdecimal() and (high.isdecimal() or not colon)):
        raise ConfigurationInvalid(
            f"workers must be a number or LEAST:MOST, such as 1:16, not {str(workers)[:100]!r}", param="workers"
        )
    size = WorkerRange(int(low), int(high or low))
    if not size.low <= size.high <= MAX_WORKERS:
        raise ConfigurationInvalid(
            f"workers {workers}: the least is at most the most, and that at most {MAX_WORKERS}", param="workers"
        )
    if colon and not size.high:
        raise ConfigurationInvalid("workers 0:0 would never start one; 0 is for workers by hand", param="workers")
    return size


class ScalingSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The section `[scaling]`: the sizes of models whose `workers` are a range, LEAST:MOST."""

    queue_s: Annotated[DayOrLess, about("Seconds in which 95 of 100 jobs shall leave the queue.")] = 1.0
    first_token_s: Annotated[DayOrLess, about("Seconds in which 95 of 100 jobs shall have their first token.")] = 5.0
    down_after_s: Annotated[DayOrLess, about("Seconds of less work after which workers are ended.")] = 120.0
    background_workers: Annotated[
        Annotated[int, Meta(ge=1, le=MAX_WORKERS)] | None,
        about("Workers that work of a priority above 0 alone may bring up; without it, as many as other work."),
    ] = None

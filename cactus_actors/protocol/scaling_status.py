"""The part of a Status about a number of workers that follows the load."""

from __future__ import annotations

from typing import Literal

import msgspec

ScalingDirection = Literal["up", "down"]


class ScalingStatus(msgspec.Struct, frozen=True, kw_only=True):
    """How the number of a model's workers is decided, between `min_workers` and `max_workers`.

    It follows the load, for a `reason` since the last of its `changes`, or it `is_fixed` by an operator.
    """

    min_workers: int
    max_workers: int
    is_fixed: bool = False
    reason: str = ""
    changes: dict[ScalingDirection, int] = {}

"""Facts that do not change while a router runs."""

from __future__ import annotations

import msgspec


class ServiceFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The router's epoch, start and version; `started_at` is in seconds of its monotonic clock."""

    epoch: int
    started_at: float
    version: str = ""

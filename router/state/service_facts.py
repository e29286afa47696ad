"""Facts that do not change while a router runs."""

from __future__ import annotations

import msgspec


class ServiceFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The router's epoch and start, and the model that the service runs.

    `started_at` is in seconds of the router's monotonic clock. `fingerprint` is that of the model's files:
    workers with another one are refused.
    """

    epoch: int
    started_at: float
    version: str = ""
    model: str = ""
    max_context: int = 0
    vocab_size: int = 0
    has_chat_template: bool = True
    fingerprint: str = ""

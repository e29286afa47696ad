"""The last requests that failed, for people who look at the service."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from cactus_actors.protocol.error_info import ErrorInfo

MAX_ERRORS = 100
MAX_MESSAGE = 300


class RecentError(NamedTuple):
    """One failure: when in Unix seconds, whose, and what the caller was told."""

    at: float
    tenant: bytes
    path: str
    status: int
    type: str
    message: str
    request_id: str


class RecentErrors:
    """The newest failures, in the order in which they happened; belongs to one event loop."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._kept: deque[RecentError] = deque(maxlen=MAX_ERRORS)

    def note(self, tenant: bytes, path: str, info: ErrorInfo, request_id: str) -> None:
        """Record the failure of a request; `path` is a route's template, not what was asked for."""
        message = info.message if len(info.message) <= MAX_MESSAGE else f"{info.message[:MAX_MESSAGE]}…"
        self._kept.append(RecentError(self._clock(), tenant, path, info.status, info.type, message, request_id))

    def shown_to(self, tenant: bytes, *, is_operator: bool) -> list[dict[str, object]]:
        """The caller's own failures; an operator sees all, those of others without their messages."""
        shown: list[dict[str, object]] = []
        for error in self._kept:
            if is_operator or error.tenant == tenant:
                row = error._asdict()
                del row["tenant"]
                shown.append(row if error.tenant == tenant else row | {"message": "", "request_id": ""})
        return shown

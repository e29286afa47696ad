"""Requests that wait for a busy or restarted service."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from cactus_actors.batch.batch_request import BatchLimits
from cactus_actors.protocol.errors import Overloaded, StorageFailure, Unavailable

MAX_RETRY_S = 30.0
T = TypeVar("T")
_log = logging.getLogger(__name__)


class Patience:
    """Shared by all requests of a run: it has no reply only if none of them has one."""

    def __init__(self, limits: BatchLimits) -> None:
        self._limits = limits
        self._last_reply_at = time.monotonic()
        self._is_unavailable = False

    async def result(self, request: Callable[[], Awaitable[T]]) -> T:
        """The result of `request`, which is repeated; raises Unavailable or StorageFailure after `service_lost_s`."""
        while True:
            try:
                result = await request()
            except Overloaded as error:
                self._on_reply()
                wait_s = error.retry_after
            except (Unavailable, StorageFailure) as error:
                if self._is_spent:
                    raise
                self._notice(error.message)
                wait_s = error.retry_after
            else:
                self._on_reply()
                return result
            await self.pause(min(wait_s or self._limits.retry_s, MAX_RETRY_S))

    async def pause(self, seconds: float) -> None:
        """Wait, a little longer at random, so that retries of several requests spread."""
        await asyncio.sleep(seconds * random.uniform(1.0, 1.5))  # noqa: S311

    @property
    def _is_spent(self) -> bool:
        return time.monotonic() - self._last_reply_at > self._limits.service_lost_s

    def _on_reply(self) -> None:
        self._last_reply_at = time.monotonic()
        self._is_unavailable = False

    def _notice(self, reason: str) -> None:
        if not self._is_unavailable:
            _log.warning("%s; waiting up to %.0f s for the service", reason, self._limits.service_lost_s)
        self._is_unavailable = True

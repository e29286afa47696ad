"""Requests that wait for a busy or restarted service."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from cactus_actors.batch.batch_request import BatchLimits
from cactus_actors.protocol.errors import CactusError, Overloaded, StorageFailure, Unavailable

MAX_RETRY_S = 30.0
REPEAT_NOTICE_S = 10.0
T = TypeVar("T")
_log = logging.getLogger(__name__)


class Patience:
    """Shared by all requests of a run: it has no reply only if none of them has one."""

    def __init__(self, limits: BatchLimits) -> None:
        self._limits = limits
        self._last_reply_at = time.monotonic()
        self._is_unavailable = False
        self._notice_at = float("-inf")

    async def result(self, request: Callable[[], Awaitable[T]]) -> T:
        """The result of `request`, which is repeated; raises Unavailable or StorageFailure after `service_lost_s`."""
        while True:
            try:
                result = await request()
            except Overloaded as error:
                self.on_reply()
                await self.pause_after(error)
            except (Unavailable, StorageFailure) as error:
                self.on_unavailable(error)
                await self.pause_after(error)
            else:
                self.on_reply()
                return result

    def on_reply(self) -> None:
        """Record that the service is there."""
        self._last_reply_at = time.monotonic()
        self._is_unavailable = False

    def on_unavailable(self, error: CactusError) -> None:
        """Raise `error` if the service has not replied for `service_lost_s`; log once that it is waited for.

        A draining service still replies in between, and is not logged again for a while.
        """
        now = time.monotonic()
        if now - self._last_reply_at > self._limits.service_lost_s:
            raise error
        if not self._is_unavailable and now - self._notice_at >= REPEAT_NOTICE_S:
            _log.warning("%s; waiting up to %.0f s for the service", error.message, self._limits.service_lost_s)
            self._notice_at = now
        self._is_unavailable = True

    async def pause_after(self, error: CactusError) -> None:
        """Wait before the request that failed is repeated."""
        await self.pause(min(error.retry_after or self._limits.retry_s, MAX_RETRY_S))

    async def pause(self, seconds: float) -> None:
        """Wait, a little longer at random, so that retries of several requests spread."""
        await asyncio.sleep(seconds * random.uniform(1.0, 1.5))  # noqa: S311

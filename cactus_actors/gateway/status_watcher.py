"""The newest status of the service."""

from __future__ import annotations

import asyncio
import contextlib
import math
import time

from cactus_actors.client import AsyncClient
from cactus_actors.gateway.background_tasks import BackgroundTasks
from cactus_actors.gateway.http.timeouts import GatewayTimeouts
from cactus_actors.protocol.errors import CactusError
from cactus_actors.protocol.messages import Status


class StatusWatcher:
    """Requests the router's status, once for all concurrent callers; belongs to one event loop."""

    def __init__(self, client: AsyncClient, tasks: BackgroundTasks, timeouts: GatewayTimeouts) -> None:
        self._client = client
        self._tasks = tasks
        self._timeouts = timeouts
        self._newest: Status | None = None
        self._requested_at = -math.inf
        self._asking: asyncio.Task[None] | None = None
        self._asking_totals: asyncio.Task[Status] | None = None

    @property
    def newest(self) -> Status | None:
        """The last status; None if it is too old."""
        is_valid = time.monotonic() - self._requested_at < self._timeouts.status_valid_s
        return self._newest if is_valid else None

    @property
    def requested_at(self) -> float:
        """Time of the last status request; the status reflects nothing later."""
        return self._requested_at

    async def fresh(self) -> Status | None:
        """The status now; None if the service does not answer in time."""
        if self._asking is None or self._asking.done():
            self._asking = self._tasks.start(self._ask())
        await asyncio.wait((self._asking,), timeout=self._timeouts.status_answer_s)
        return self.newest

    async def with_totals(self) -> Status | None:
        """As `fresh`, with the router's counts."""
        if self._asking_totals is None or self._asking_totals.done():
            self._asking_totals = asyncio.get_running_loop().create_task(self._client.status(with_totals=True))
            self._tasks.keep(self._asking_totals)
        with contextlib.suppress(CactusError, TimeoutError):
            async with asyncio.timeout(self._timeouts.totals_answer_s):
                return await asyncio.shield(self._asking_totals)
        return None

    async def watch(self) -> None:
        """Keep `newest` fresh until cancelled."""
        while True:
            await self.fresh()
            await asyncio.sleep(self._timeouts.status_interval_s)

    async def _ask(self) -> None:
        requested_at = time.monotonic()
        with contextlib.suppress(CactusError):
            self._newest = await self._client.status()
            self._requested_at = requested_at

"""What the routes stand on: the service behind, its newest status, the model's text side, settings."""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any

from cactus_actors.client import AsyncClient
from cactus_actors.config import GatewaySettings
from cactus_actors.gateway.files.batch_runner import BatchRunner
from cactus_actors.gateway.files.file_store import FileStore
from cactus_actors.gateway.http.api_keys import ApiKeys
from cactus_actors.gateway.http.request_body import HttpRequest
from cactus_actors.gateway.metrics.gateway_metrics import Metrics
from cactus_actors.gateway.text_queue import TextQueue
from cactus_actors.protocol.errors import CactusError, StorageFailure, Unavailable
from cactus_actors.protocol.messages import Status
from cactus_actors.text import TextModel

STATUS_INTERVAL_S = 1.0
STATUS_VALID_S = 5.0
WATCHER_PATIENCE_S = 2.0
ANSWER_TIMEOUT_S = 1.0


@dataclass
class Gateway:
    """Touched by the event loop alone.

    `stopped` is done when those who still wait for an answer must be told
    that none comes here.
    """

    settings: GatewaySettings
    client: AsyncClient
    text: TextModel
    keys: ApiKeys
    files: FileStore
    batches: BatchRunner
    metrics: Metrics = field(default_factory=Metrics)
    created: int = field(default_factory=lambda: int(time.time()))
    is_draining: bool = False
    text_queue: TextQueue = field(default_factory=TextQueue)
    stopped: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    _status: Status | None = None
    _status_at: float = 0.0
    _storage_failed_at: float = -math.inf
    _has_served: bool = False
    _asking: asyncio.Task[None] | None = None
    _counting: asyncio.Task[Status] | None = None
    _in_background: set[asyncio.Task[Any]] = field(default_factory=set)

    @property
    def model(self) -> str:
        """The name that the model is served under."""
        return self.settings.alias or self.text.name

    @property
    def is_mistral(self) -> bool:
        """Whether a surface is Mistral's, so that errors must have its shape, too."""
        return "mistral" in (self.settings.chat_profile, self.settings.completions_profile)

    @property
    def status(self) -> Status | None:
        """What the service said of itself last; None if that is too long ago."""
        return self._status if time.monotonic() - self._status_at < STATUS_VALID_S else None

    @property
    def fingerprint(self) -> str | None:
        """The system's fingerprint; None while it is not known."""
        status = self.status
        return None if status is None else status.system_fingerprint

    async def check_serves(self) -> None:
        """Raise Unavailable while there is nobody who could answer."""
        try:
            self._check(self.status)
        except Unavailable:  # that may be over since the status was asked for
            self._check(await self.fresh_status())

    async def check_ready(self) -> None:
        """Raise Unavailable while new work should go elsewhere: nobody could answer, or keep it on disk."""
        await self.check_serves()
        # A status that was asked for before the router refused a job does not know of that.
        has_failed_since = self._storage_failed_at >= self._status_at
        if has_failed_since or (self._status is not None and self._status.storage_error):
            raise Unavailable("the journal cannot be written", retry_after=5.0)

    def note_failure(self, error: BaseException) -> None:
        """Hear what the router answered; after a StorageFailure no work comes here until a later status."""
        if isinstance(error, StorageFailure):
            self._storage_failed_at = time.monotonic()

    def _check(self, status: Status | None) -> None:
        if self.is_draining or (status is not None and status.draining):
            raise stopping_error()
        if status is None:
            raise Unavailable("the service does not answer", retry_after=1.0)
        # One that is slow to report is ready as long as the router, which judges that, takes it for ready.
        if any(worker.kind == "local" and worker.state == "ready" for worker in status.workers):
            self._has_served = True
            return
        raise Unavailable(self._why_nobody_answers(status), retry_after=1.0)

    def _why_nobody_answers(self, status: Status) -> str:
        if status.desired_workers == 0:
            return "the service runs without model workers just now"
        if self._has_served or status.jobs.finished:
            return "no model worker answers just now; a lost one is replaced"
        return "Loading model"

    async def fresh_status(self) -> Status | None:
        """The service's status now, or None if it does not answer soon; asked once for all who want it."""
        if self._asking is None or self._asking.done():
            self._asking = self.start(self._ask())
        await asyncio.wait((self._asking,), timeout=ANSWER_TIMEOUT_S)
        return self.status

    async def _ask(self) -> None:
        asked_at = time.monotonic()
        with contextlib.suppress(CactusError):
            self._status = await self.client.status()
            self._status_at = asked_at

    async def status_with_totals(self) -> Status | None:
        """As `fresh_status`, for one who counts, and who waits no longer than WATCHER_PATIENCE_S."""
        if self._counting is None or self._counting.done():
            self._counting = asyncio.get_running_loop().create_task(self.client.status(with_totals=True))
            self.go_on(self._counting)
        with contextlib.suppress(CactusError, TimeoutError):
            async with asyncio.timeout(WATCHER_PATIENCE_S):
                return await asyncio.shield(self._counting)
        return None

    async def watch(self) -> None:
        """Keep `status` fresh, for ever."""
        while True:
            await self.fresh_status()
            await asyncio.sleep(STATUS_INTERVAL_S)

    def go_on(self, work: asyncio.Task[Any]) -> None:
        """Let a task end whose asker is gone."""
        self._in_background.add(work)
        work.add_done_callback(self._forget)

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run something in the background."""
        task = asyncio.get_running_loop().create_task(work)
        self.go_on(task)
        return task

    def stop(self) -> None:
        """Wait for no answer any longer."""
        self.is_draining = True
        if not self.stopped.done():
            self.stopped.set_result(None)

    async def close(self) -> None:
        """End what runs in the background."""
        tasks = [*self._in_background]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _forget(self, task: asyncio.Task[Any]) -> None:
        self._in_background.discard(task)
        if not task.cancelled():
            task.exception()  # its asker is gone


def stopping_error() -> Unavailable:
    """What is said to whoever comes, or still waits, while the service stops."""
    return Unavailable("the service is draining: it takes no new work and stops soon", retry_after=5.0)


def gateway_of(request: HttpRequest) -> Gateway:
    """What the route of a request stands on."""
    gateway: Gateway = request.app.state.gateway
    return gateway

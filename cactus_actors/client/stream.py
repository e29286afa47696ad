"""AsyncTokenStream: the deltas of one job as they come, then its result."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Generator
from types import TracebackType
from typing import Any, NamedTuple, Self

from cactus_actors.client.router_connection import JobHandle, RouterConnection
from cactus_actors.protocol.errors import CactusError, Unavailable
from cactus_actors.protocol.messages import Accepted, Delta, Submit
from cactus_actors.protocol.results import Result

CLOSED_RESULT_S = 5.0  # a cancelled job ends at once


class JobUpdate(NamedTuple):
    """What is known of a job: that it was accepted, deltas that were not taken yet, and how it ended."""

    accepted: Accepted | None
    deltas: list[Delta]
    outcome: Result | CactusError | None


class AsyncTokenStream(AsyncIterator[Delta]):
    """Iterate for the deltas; `await result()` for the Result, which reads the stream to its end.

    The deltas' text joins to the result's text, without a gap, a repeat or a retraction. A failed job raises
    its typed error after the deltas that it had. Leaving early (`close()`, the end of an `async with`, or
    dropping the stream) cancels the job.
    """

    def __init__(self, connection: RouterConnection, submit: Submit) -> None:
        self._connection = connection
        self._submit = submit
        self._job: JobHandle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_closed = False

    @property
    def job_id(self) -> str:
        """The job's id, known before it is submitted."""
        return self._submit.job_id

    def __await__(self) -> Generator[Any, None, Self]:
        return self._begun().__await__()

    async def __aenter__(self) -> Self:
        return await self._begun()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Delta:
        follower = (await self._following()).follower
        while not follower.deltas:
            if self._is_closed:
                raise StopAsyncIteration
            if isinstance(follower.outcome, CactusError):
                raise follower.outcome
            if follower.outcome is not None:
                raise StopAsyncIteration
            await (await self._following()).wait_changed()
        return follower.deltas.popleft()

    async def take(self) -> list[Delta]:
        """All the deltas that are there, at least one; empty at the end of the stream."""
        try:
            first = await anext(self)
        except StopAsyncIteration:
            return []
        ready = (await self._following()).follower.deltas
        rest = list(ready)
        ready.clear()
        return [first, *rest]

    async def accepted(self) -> Accepted | None:
        """The service's word that the job will end, once it is there; None for a job that ended unseen.

        Raises the error of a job that was refused.
        """
        job = await self._following()
        while job.follower.accepted is None and job.follower.outcome is None:
            await job.wait_changed()
        if job.follower.accepted is None and isinstance(job.follower.outcome, CactusError):
            raise job.follower.outcome
        return job.follower.accepted

    async def watch(self, on_change: Callable[[], None]) -> None:
        """Begin, and call `on_change` at once and whenever `news` may have some."""
        job = await self._following()
        job.on_change = on_change
        on_change()

    @property
    def has_reply(self) -> bool:
        """Whether the service has said what becomes of the job."""
        follower = None if self._job is None else self._job.follower
        return follower is not None and (follower.accepted is not None or follower.outcome is not None)

    def update(self) -> JobUpdate:
        """What a stream that is watched has now; its deltas are taken by that."""
        assert self._job is not None
        follower = self._job.follower
        deltas = list(follower.deltas)
        follower.deltas.clear()
        return JobUpdate(follower.accepted, deltas, follower.outcome)

    async def result(self) -> Result:
        """The job's Result; deltas that were not read stay readable.

        After `close()` it is what the service had when it cancelled the job; raises Unavailable if the
        service does not tell soon.
        """
        job = await self._following()
        try:
            async with asyncio.timeout(CLOSED_RESULT_S if self._is_closed else None):
                return await job.outcome()
        except TimeoutError:
            raise Unavailable(f"no result of the cancelled job {self.job_id} yet") from None

    async def close(self) -> None:
        """Cancel the job, unless it has ended."""
        if self._job is not None and not self._is_closed:
            self._is_closed = True
            self._connection.abandon(self._job)

    def release(self) -> None:
        """Follow the job no longer and let it go on."""
        if self._job is not None and not self._is_closed:
            self._is_closed = True
            self._connection.release(self._job)

    aclose = close

    def __del__(self) -> None:
        job, loop = self._job, self._loop
        if job is None or self._is_closed or job.follower.outcome is not None:
            return
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._connection.abandon, job)

    async def _begun(self) -> Self:
        await self._following()
        return self

    async def _following(self) -> JobHandle:
        if self._job is None:
            self._loop = asyncio.get_running_loop()
            self._job = await self._connection.follow(self.job_id, self._submit, streamed=True)
        return self._job

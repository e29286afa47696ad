"""AsyncTokenStream: the deltas of one job as they arrive, then its result."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Generator
from typing import Any, NamedTuple, Self

from cactus_actors.client.router_connection import JobHandle, RouterConnection
from cactus_actors.client.submit import EncodedSubmit
from cactus_actors.protocol.errors import CactusError, Unavailable
from cactus_actors.protocol.messages import Accepted, Delta
from cactus_actors.protocol.results import Result


class JobUpdate(NamedTuple):
    """The state of a job: its acceptance, the deltas not yet read, and its outcome."""

    accepted: Accepted | None
    deltas: list[Delta]
    outcome: Result | CactusError | None


class AsyncTokenStream(AsyncIterator[Delta]):
    """Iterate for the deltas; `await result()` waits for the Result.

    The text of the deltas joins to the result's `stream_text`, or to its `text` if that is None, without a gap, a
    repeat or a retraction. A failed job raises its typed error after its last delta. Closing the stream early
    (`close()`, the end of a `with`, or dropping it) cancels the job.
    """

    def __init__(self, connection: RouterConnection, submit: EncodedSubmit) -> None:
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

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Delta:
        job = self._job or await self._following()
        follower = job.follower
        while not follower.deltas:
            if self._is_closed:
                raise StopAsyncIteration
            if isinstance(follower.outcome, CactusError):
                raise follower.outcome
            if follower.outcome is not None:
                raise StopAsyncIteration
            await job.wait_changed()
        return follower.deltas.popleft()

    async def take(self) -> list[Delta]:
        """Return all deltas that have arrived, at least one; an empty list at the end of the stream."""
        try:
            first = await anext(self)
        except StopAsyncIteration:
            return []
        ready = (await self._following()).follower.deltas
        rest = list(ready)
        ready.clear()
        return [first, *rest]

    async def accepted(self) -> Accepted | None:
        """Wait until the service has accepted the job; None if the job ended before its acceptance was received.

        Raises the error of a refused job.
        """
        return await (await self._following()).accepted()

    async def watch(self, on_change: Callable[[], None]) -> None:
        """Submit the job; call `on_change` immediately and whenever `update` may return something new."""
        job = await self._following()
        job.on_change = on_change
        on_change()

    @property
    def has_reply(self) -> bool:
        """True if the service has accepted or refused the job."""
        follower = None if self._job is None else self._job.follower
        return follower is not None and (follower.accepted is not None or follower.outcome is not None)

    def update(self) -> JobUpdate:
        """Return the updates since the last call; the deltas are consumed."""
        assert self._job is not None
        follower = self._job.follower
        deltas = list(follower.deltas)
        follower.deltas.clear()
        return JobUpdate(follower.accepted, deltas, follower.outcome)

    async def result(self) -> Result:
        """Wait for the job's Result. Unread deltas stay readable.

        After `close()` it is the partial result of the cancelled job; raises Unavailable if that does not arrive
        within `Timeouts.close_s`.
        """
        job = await self._following()
        try:
            async with asyncio.timeout(self._connection.timeouts.close_s if self._is_closed else None):
                return await job.outcome()
        except TimeoutError:
            raise Unavailable(f"no result of the cancelled job {self.job_id} yet") from None

    async def close(self) -> None:
        """Cancel the job unless it has ended."""
        if self._job is not None and not self._is_closed:
            self._is_closed = True
            self._connection.abandon(self._job)

    def release(self) -> None:
        """Stop following the job; it keeps running."""
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

"""Client: AsyncClient for programs without an event loop."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections import deque
from collections.abc import Coroutine, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from cactus_actors.client.async_client import AsyncClient
from cactus_actors.client.stream import AsyncTokenStream
from cactus_actors.client.submit import Messages, Prompt, Tools
from cactus_actors.config import DEFAULT_JOBS_ENDPOINT
from cactus_actors.protocol.errors import Unavailable
from cactus_actors.protocol.messages import Delta, JobState, Status, Submit
from cactus_actors.protocol.results import Result

T = TypeVar("T")


class Client:
    """AsyncClient with the same methods, blocking; safe to use from any number of threads.

    One background thread runs the event loop of one AsyncClient; `close()`, or the end of a `with`, ends it.
    """

    def __init__(
        self,
        jobs_endpoint: str = DEFAULT_JOBS_ENDPOINT,
        stream_endpoint: str | None = None,
        *,
        timeout: float = 10.0,
        reconnect_timeout: float = 60.0,
        key_file: str | Path | None = None,
    ) -> None:
        self._client = AsyncClient(
            jobs_endpoint,
            stream_endpoint,
            timeout=timeout,
            reconnect_timeout=reconnect_timeout,
            key_file=key_file,
        )
        self._loop = asyncio.new_event_loop()
        self._lock = threading.Lock()  # nothing is handed to the loop once it has been told to close
        self._is_closed = False
        self._thread = threading.Thread(target=self._run_loop, name="cactus-client", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Release sockets and the thread; jobs that were submitted and not cancelled go on running."""
        with self._lock:
            is_first, self._is_closed = not self._is_closed, True
        if is_first:
            try:
                asyncio.run_coroutine_threadsafe(self._client.close(), self._loop).result()
            finally:
                self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def complete(
        self,
        prompt: Prompt | None = None,
        *,
        messages: Messages | None = None,
        tools: Tools | None = None,
        model: str | None = None,
        job_id: str | None = None,
        **options: Any,
    ) -> Result:
        """The whole result of one job; an interrupted wait cancels it."""
        return self._wait(
            self._client.complete(prompt, messages=messages, tools=tools, model=model, job_id=job_id, **options)
        )

    def stream(
        self,
        prompt: Prompt | None = None,
        *,
        messages: Messages | None = None,
        tools: Tools | None = None,
        model: str | None = None,
        job_id: str | None = None,
        **options: Any,
    ) -> TokenStream:
        """The deltas of one job as they come: `for delta in client.stream(...)`.

        Closing or dropping the stream before its end cancels the job.
        """
        return self._start(
            self._client.stream(prompt, messages=messages, tools=tools, model=model, job_id=job_id, **options)
        )

    def run(self, submit: Submit) -> Result:
        """`complete` for a message that is already made."""
        return self._wait(self._client.run(submit))

    def follow(self, submit: Submit) -> TokenStream:
        """`stream` for a message that is already made."""
        return self._start(self._client.follow(submit))

    def submit(
        self,
        prompt: Prompt | None = None,
        *,
        messages: Messages | None = None,
        tools: Tools | None = None,
        model: str | None = None,
        job_id: str | None = None,
        **options: Any,
    ) -> str:
        """Start a job and return its id once the service has accepted it."""
        return self._wait(
            self._client.submit(prompt, messages=messages, tools=tools, model=model, job_id=job_id, **options)
        )

    def result(self, job_id: str, timeout: float | None = None) -> Result:
        """A job's result by its id; raises TimeoutError when it has not ended within `timeout` seconds."""
        return self._wait(self._client.result(job_id, timeout))

    def cancel(self, job_id: str) -> JobState:
        """End a job and return its state, which tells one that had ended before; raises JobNotFound."""
        return self._wait(self._client.cancel(job_id))

    def status(self, *, with_totals: bool = False) -> Status:
        """What the service is doing now, and what it has counted since it started."""
        return self._wait(self._client.status(with_totals=with_totals))

    def scale(self, num_workers: int) -> int:
        """Set the wished number of local workers, which come and go while jobs run; returns it as noted."""
        return self._wait(self._client.scale(num_workers))

    def restart_workers(self) -> int:
        """Have every local worker replaced, one after the other, while jobs run; how many there are."""
        return self._wait(self._client.restart_workers())

    def _start(self, stream: AsyncTokenStream) -> TokenStream:
        try:
            return TokenStream(self, self._wait(_begun(stream)))
        except BaseException:  # an interrupt: the job may be on its way already, and nobody else can cancel it
            asyncio.run_coroutine_threadsafe(stream.close(), self._loop)
            raise

    def _run_loop(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.get_loop().run_forever()

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        with self._lock:
            if self._is_closed:
                work.close()
                raise Unavailable("the client was closed")
            future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except concurrent.futures.CancelledError:
            raise Unavailable("the client was closed") from None
        except BaseException:  # an interrupt ends the wait here and the work there
            future.cancel()
            raise


class TokenStream(Iterator[Delta]):
    """AsyncTokenStream without `await`; see there."""

    def __init__(self, client: Client, stream: AsyncTokenStream) -> None:
        self._client = client
        self._stream = stream
        self._ready: deque[Delta] = deque()

    @property
    def job_id(self) -> str:
        """The job's id."""
        return self._stream.job_id

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Delta:
        if not self._ready:
            self._ready.extend(self._client._wait(self._stream.take()))
        if not self._ready:
            raise StopIteration
        return self._ready.popleft()

    def result(self) -> Result:
        """The job's Result; deltas that were not read stay readable."""
        return self._client._wait(self._stream.result())

    def close(self) -> None:
        """Cancel the job, unless it has ended."""
        self._client._wait(self._stream.close())


async def _begun(stream: AsyncTokenStream) -> AsyncTokenStream:
    return await stream

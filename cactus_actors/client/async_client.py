"""AsyncClient: requests to the service, from one event loop."""

from __future__ import annotations

import asyncio
import secrets
import warnings
from collections import OrderedDict
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal, Self

import msgspec

from cactus_actors.client.client_sockets import default_stream_endpoint
from cactus_actors.client.job_follower import Timeouts
from cactus_actors.client.job_list import outcomes
from cactus_actors.client.router_connection import JobHandle, RouterConnection
from cactus_actors.client.stream import AsyncTokenStream
from cactus_actors.client.submit import EncodedSubmit, Messages, Prompt, Tools, check_job_id, encoded, make_submit
from cactus_actors.config import DEFAULT_JOBS_ENDPOINT
from cactus_actors.keys.key_file import find_credentials
from cactus_actors.protocol.errors import CactusError
from cactus_actors.protocol.messages import (
    AdapterLoaded,
    AdapterUnloaded,
    AskCloudBatch,
    Cancel,
    CloudBatch,
    DrainNode,
    Fetch,
    Finished,
    JobState,
    LoadAdapter,
    Pending,
    Restart,
    Restarting,
    Scale,
    Scaling,
    Status,
    StatusRequest,
    Submit,
    UnloadAdapter,
)
from cactus_actors.protocol.results import Result

MAX_UNREAD_RESULTS = 10_000
MAX_IN_FLIGHT = 64


class AsyncClient:
    """A client of a service for asyncio; safe to use from any number of tasks of one event loop.

    Its parameters and errors are those of Client.
    """

    def __init__(
        self,
        jobs_endpoint: str = DEFAULT_JOBS_ENDPOINT,
        stream_endpoint: str | None = None,
        *,
        timeout: float = 10.0,
        reconnect_timeout: float = 60.0,
        key_file: str | Path | None = None,
        timeouts: Timeouts | None = None,
    ) -> None:
        self.jobs_endpoint = jobs_endpoint
        self.stream_endpoint = stream_endpoint or default_stream_endpoint(jobs_endpoint)
        if timeouts is None:
            timeouts = Timeouts(first_reply_s=timeout, reconnect_s=max(timeout, reconnect_timeout))
        timeouts = msgspec.structs.replace(timeouts, endpoint=jobs_endpoint)
        self._connection = RouterConnection(
            self.jobs_endpoint, self.stream_endpoint, timeouts, find_credentials(key_file)
        )
        self._submitted: OrderedDict[str, JobHandle] = OrderedDict()

    async def __aenter__(self) -> Self:
        self._connection.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Release sockets and tasks. Submitted jobs that were not cancelled keep running."""
        await self._connection.close()

    async def complete(
        self,
        /,
        prompt: Prompt | None = None,
        *,
        messages: Messages | None = None,
        tools: Tools | None = None,
        model: str | None = None,
        job_id: str | None = None,
        **options: Any,
    ) -> Result:
        """Run one job and return its Result. An interrupted or cancelled wait cancels the job."""
        given = {"messages": messages, "tools": tools, "model": model, "job_id": job_id}
        return await self.run(_encoded(prompt, options=options, **given))

    async def batch(
        self,
        prompts: Iterable[Prompt | Messages],
        /,
        *,
        tools: Tools | None = None,
        model: str | None = None,
        max_in_flight: int = MAX_IN_FLIGHT,
        **options: Any,
    ) -> list[Result | CactusError]:
        """Run a job for each prompt, at most `max_in_flight` at once; results are in the order of the prompts.

        A list of dicts is a chat. A job that fails is its error in the list; a prompt that cannot be sent raises
        InvalidRequest before any is. A full service is asked again until it has room. An interrupt cancels all jobs.
        """
        jobs = [_encoded(options=options, tools=tools, model=model, **_asked(prompt)) for prompt in prompts]
        return await outcomes(jobs, self.run, max_in_flight)

    async def run(self, submit: Submit | EncodedSubmit) -> Result:
        """Like `complete`, for a Submit message."""
        to_send = encoded(submit)
        job = await self._connection.follow(to_send.job_id, to_send, streamed=False)
        try:
            return await job.outcome()
        finally:
            if job.follower.outcome is None:
                self._connection.abandon(job)

    async def begin(self, submit: EncodedSubmit) -> JobHandle:
        """Submit a job and return its handle, for its acceptance and its end; it goes on if nobody waits for them."""
        return await self._connection.follow(submit.job_id, submit, streamed=False)

    def abandon(self, job: JobHandle) -> None:
        """Cancel a job that `begin` submitted, unless it has ended."""
        if job.follower.outcome is None:
            self._connection.abandon(job)

    def stream(
        self,
        /,
        prompt: Prompt | None = None,
        *,
        messages: Messages | None = None,
        tools: Tools | None = None,
        model: str | None = None,
        job_id: str | None = None,
        **options: Any,
    ) -> AsyncTokenStream:
        """Run one job and iterate over its deltas: `async for` with AsyncClient, `for` with Client.

        AsyncClient submits the job at the first await, Client before it returns. Closing or dropping the stream
        before its end cancels the job.
        """
        given = {"messages": messages, "tools": tools, "model": model, "job_id": job_id}
        return self.follow(_encoded(prompt, options=options, **given))

    def follow(self, submit: Submit | EncodedSubmit) -> AsyncTokenStream:
        """Like `stream`, for a Submit message."""
        return AsyncTokenStream(self._connection, encoded(submit))

    async def submit(
        self,
        /,
        prompt: Prompt | None = None,
        *,
        messages: Messages | None = None,
        tools: Tools | None = None,
        model: str | None = None,
        job_id: str | None = None,
        **options: Any,
    ) -> str:
        """Submit a job and return its id after the service has accepted it."""
        given = {"messages": messages, "tools": tools, "model": model, "job_id": job_id}
        submit = _encoded(prompt, options=options, **given)
        job = await self._connection.follow(submit.job_id, submit, streamed=False)
        await job.accepted()
        self._submitted[submit.job_id] = job
        if len(self._submitted) > MAX_UNREAD_RESULTS:
            self._submitted.popitem(last=False)
        return submit.job_id

    async def result(self, job_id: str, timeout: float | None = None) -> Result:  # noqa: ASYNC109
        """Return the Result of a job by its id, whichever client submitted it.

        Raises TimeoutError after `timeout` seconds; the job keeps running.
        """
        check_job_id(job_id)
        try:
            async with asyncio.timeout(timeout) as limit:
                job = self._submitted.get(job_id)
                if job is None:
                    job = next(iter(self._connection.handles(job_id)), None)
                if job is None:
                    job = await self._connection.follow(job_id, None, streamed=False)
                try:
                    return await job.outcome()
                finally:
                    if job.follower.outcome is not None:
                        self._submitted.pop(job_id, None)
        except TimeoutError:
            if not limit.expired():
                raise
            raise TimeoutError(f"job {job_id} has not ended within {timeout:g} s; it keeps running") from None

    async def cancel(self, job_id: str) -> JobState:
        """Cancel a job and return its state, `cancelled` or that in which it ended before; raises JobNotFound."""
        check_job_id(job_id)
        for job in self._connection.handles(job_id):
            job.follower.is_cancelled = True
        return (await self._connection.ask(job_id, Cancel(job_id=job_id), Pending)).state

    async def retrieve(self, job_id: str) -> Finished | Pending:
        """Return the current state of a job without waiting, whichever client submitted it; raises JobNotFound."""
        check_job_id(job_id)
        fetch = Fetch(job_id=job_id, wait=False)
        return await self._connection.ask(job_id, fetch, Finished, Pending)

    async def look(self, job_id: str) -> Finished | Pending:
        """The deprecated name of `retrieve`."""
        warnings.warn("AsyncClient.look is deprecated: use retrieve", DeprecationWarning, stacklevel=2)
        return await self.retrieve(job_id)

    async def status(self, *, with_totals: bool = False) -> Status:
        """Return the state of the service; `with_totals` adds its counters since the start."""
        request_id = secrets.token_hex(8)
        message = StatusRequest(request_id=request_id, with_totals=with_totals)
        return await self._connection.ask(request_id, message, Status)

    async def scale(self, num_workers: int | Literal["auto"], model: str | None = None) -> int:
        """Set the desired number of local workers and return it; running jobs lose nothing.

        With `auto` the load decides again, in a service that was given a range of workers. A service of several models
        needs the `model`; raises ModelNotFound.
        """
        request_id = secrets.token_hex(8)
        message = Scale(num_workers=num_workers, request_id=request_id, model=model)
        return (await self._connection.ask(request_id, message, Scaling)).num_workers

    async def drain_node(self, node: str, within_s: float | None = None) -> int:
        """Replace the workers of a node, by its host name or id, on other nodes; returns how many it has.

        Running jobs lose nothing. With `within_s` the workers leave in time even if nothing has replaced them.
        """
        request_id = secrets.token_hex(8)
        message = DrainNode(node=node, within_s=within_s, request_id=request_id)
        return (await self._connection.ask(request_id, message, Restarting)).num_workers

    async def keep_node(self, node: str) -> None:
        """Let a node that was drained have workers again."""
        request_id = secrets.token_hex(8)
        await self._connection.ask(request_id, DrainNode(node=node, keep=True, request_id=request_id), Restarting)

    async def load_adapter(self, name: str, path: str, model: str | None = None) -> int:
        """Let jobs name the LoRA adapter in `path`, absolute and on the workers' machines; returns their number.

        Returns when every worker has it. A service of several models needs the `model`. Raises InvalidRequest for an
        adapter that does not fit the model.
        """
        request_id = secrets.token_hex(8)
        message = LoadAdapter(name=name, path=path, request_id=request_id, model=model)
        return (await self._connection.ask(request_id, message, AdapterLoaded)).num_workers

    async def unload_adapter(self, name: str, model: str | None = None) -> None:
        """Let no more jobs name an adapter; those that have it finish on it. Raises ModelNotFound."""
        request_id = secrets.token_hex(8)
        message = UnloadAdapter(name=name, request_id=request_id, model=model)
        await self._connection.ask(request_id, message, AdapterUnloaded)

    async def cloud_batch(self, ask: AskCloudBatch) -> CloudBatch:
        """Create a batch at the cloud, or return its state; a batch is created once, however often it is asked for.

        Raises PermissionDenied for a key without the cloud.
        """
        request_id = secrets.token_hex(8)
        return await self._connection.ask(request_id, msgspec.structs.replace(ask, request_id=request_id), CloudBatch)

    async def restart_workers(self) -> int:
        """Replace every local worker, one at a time, while jobs run; returns their number."""
        request_id = secrets.token_hex(8)
        message = Restart(request_id=request_id)
        return (await self._connection.ask(request_id, message, Restarting)).num_workers


def _asked(prompt: Prompt | Messages) -> dict[str, Any]:
    is_chat = not isinstance(prompt, str) and len(prompt) > 0 and not isinstance(prompt[0], int | str)
    return {"messages" if is_chat else "prompt": prompt}


def _encoded(prompt: Prompt | None = None, *, options: dict[str, Any], **given: Any) -> EncodedSubmit:
    """A request with its pictures of this machine as frames."""
    frames: list[bytes] = []
    submit = make_submit(prompt, **given, options=options, frames=frames)
    return encoded(submit, frames)

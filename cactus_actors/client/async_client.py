"""AsyncClient: what a program asks of the service, awaited."""

from __future__ import annotations

import asyncio
import secrets
from collections import OrderedDict
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from cactus_actors.client.client_sockets import default_stream_endpoint
from cactus_actors.client.job_follower import Timeouts
from cactus_actors.client.router_connection import JobHandle, RouterConnection
from cactus_actors.client.stream import AsyncTokenStream
from cactus_actors.client.submit import Messages, Prompt, Tools, check_job_id, make_submit, ready_to_send
from cactus_actors.config import DEFAULT_JOBS_ENDPOINT
from cactus_actors.keys.key_file import find_credentials
from cactus_actors.protocol.errors import CactusError
from cactus_actors.protocol.messages import (
    Cancel,
    Fetch,
    Finished,
    JobState,
    Pending,
    Restart,
    Restarting,
    Scale,
    Scaling,
    Status,
    StatusRequest,
    Submit,
)
from cactus_actors.protocol.results import Result

MAX_UNREAD_RESULTS = 10_000


class AsyncClient:
    """Asks a service for completions; safe to use from any number of tasks of one event loop.

    `timeout` is how many seconds a first answer may take before Unavailable is raised. A job that the service
    has answered once is followed through silence, reconnection and a restarted router until there was
    nothing for `reconnect_timeout` seconds.

    `key_file` names the key that a service with keys asks for, and defaults to what CACTUS_KEY_FILE names.
    AuthenticationFailed is raised where it is not accepted.

    A job that fails raises its typed error, with what there was of the result as `error.result`; a cancelled
    job is a Result with finish_reason "cancelled". Options are the fields of `Options`; another name raises
    InvalidRequest before anything is sent.
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
        self.jobs_endpoint = jobs_endpoint
        self.stream_endpoint = stream_endpoint or default_stream_endpoint(jobs_endpoint)
        timeouts = Timeouts(endpoint=jobs_endpoint, first_reply_s=timeout, reconnect_s=max(timeout, reconnect_timeout))
        self._connection = RouterConnection(
            self.jobs_endpoint, self.stream_endpoint, timeouts, find_credentials(key_file)
        )
        self._submitted: OrderedDict[str, JobHandle] = OrderedDict()

    async def __aenter__(self) -> Self:
        self._connection.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Release sockets and tasks; jobs that were submitted and not cancelled go on running."""
        await self._connection.close()

    async def complete(
        self,
        prompt: Prompt | None = None,
        *,
        messages: Messages | None = None,
        tools: Tools | None = None,
        model: str | None = None,
        job_id: str | None = None,
        **options: Any,
    ) -> Result:
        """The whole result of one job; a task that is cancelled while it waits here cancels its job."""
        submit = make_submit(prompt, messages=messages, tools=tools, model=model, job_id=job_id, options=options)
        return await self.run(submit)

    async def run(self, submit: Submit) -> Result:
        """`complete` for a message that is already made."""
        submit = ready_to_send(submit)
        job = await self._connection.follow(submit.job_id, submit, streamed=False)
        try:
            return await job.outcome()
        finally:
            if job.follower.outcome is None:
                self._connection.abandon(job)

    def stream(
        self,
        prompt: Prompt | None = None,
        *,
        messages: Messages | None = None,
        tools: Tools | None = None,
        model: str | None = None,
        job_id: str | None = None,
        **options: Any,
    ) -> AsyncTokenStream:
        """The deltas of one job as they come: `async for delta in client.stream(...)`.

        The job is submitted at the first await. Closing or dropping the stream before its end cancels it.
        """
        submit = make_submit(prompt, messages=messages, tools=tools, model=model, job_id=job_id, options=options)
        return self.follow(submit)

    def follow(self, submit: Submit) -> AsyncTokenStream:
        """`stream` for a message that is already made."""
        return AsyncTokenStream(self._connection, ready_to_send(submit))

    async def submit(
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
        submit = ready_to_send(
            make_submit(prompt, messages=messages, tools=tools, model=model, job_id=job_id, options=options)
        )
        job = await self._connection.follow(submit.job_id, submit, streamed=False)
        while job.follower.accepted is None:
            outcome = job.follower.outcome
            if isinstance(outcome, CactusError):
                raise outcome
            if outcome is not None:
                break
            await job.wait_changed()
        self._submitted[submit.job_id] = job
        if len(self._submitted) > MAX_UNREAD_RESULTS:
            self._submitted.popitem(last=False)
        return submit.job_id

    async def result(self, job_id: str, timeout: float | None = None) -> Result:  # noqa: ASYNC109
        """A job's result by its id, whoever submitted it.

        Raises TimeoutError when it has not ended within `timeout` seconds; the job goes on.
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
            raise TimeoutError(f"job {job_id} has not ended within {timeout:g} s; it goes on") from None

    async def cancel(self, job_id: str) -> JobState:
        """End a job and return its state, which tells one that had ended before; raises JobNotFound."""
        check_job_id(job_id)
        for job in self._connection.handles(job_id):
            job.follower.is_cancelled = True
        return (await self._connection.ask(job_id, Cancel(job_id=job_id), Pending)).state

    async def look(self, job_id: str) -> Finished | Pending:
        """What is known of a job now, whoever submitted it; raises JobNotFound."""
        check_job_id(job_id)
        fetch = Fetch(job_id=job_id, wait=False)
        return await self._connection.ask(job_id, fetch, Finished, Pending)

    async def status(self, *, with_totals: bool = False) -> Status:
        """What the service is doing now, and what it has counted since it started."""
        request_id = secrets.token_hex(8)
        message = StatusRequest(request_id=request_id, with_totals=with_totals)
        return await self._connection.ask(request_id, message, Status)

    async def scale(self, num_workers: int) -> int:
        """Set the wished number of local workers, which come and go while jobs run; returns it as noted."""
        request_id = secrets.token_hex(8)
        message = Scale(num_workers=num_workers, request_id=request_id)
        return (await self._connection.ask(request_id, message, Scaling)).num_workers

    async def restart_workers(self) -> int:
        """Have every local worker replaced, one after the other, while jobs run; how many there are."""
        request_id = secrets.token_hex(8)
        message = Restart(request_id=request_id)
        return (await self._connection.ask(request_id, message, Restarting)).num_workers

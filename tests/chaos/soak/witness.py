"""A client that records each of its actions and observations for the checker."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from cactus_actors.client import AsyncClient
from cactus_actors.protocol.errors import CactusError
from cactus_actors.protocol.results import Result
from tests.chaos.soak.history import History

Request = Callable[[int], tuple[str | None, dict[str, Any]]]
"""The prompt and the options of a request by its number; equal numbers ask for the same tokens.

Without a prompt, `messages` are among the options.
"""


class Witness:
    """One client under its name; `another` reads the results that it leaves."""

    def __init__(
        self,
        name: str,
        client: AsyncClient,
        another: AsyncClient,
        history: History,
        chance: random.Random,
        request: Request,
    ) -> None:
        self.name = name
        self._client = client
        self._another = another
        self._history = history
        self._chance = chance
        self.request = request

    async def complete(self, number: int) -> None:
        prompt, options = self.request(number)
        job = self._invoke(number)
        async with self._ending(job):
            self._ok(job, await self._client.complete(prompt, job_id=job, **options))

    async def stream(self, number: int, on_length: Callable[[int], Awaitable[None]] | None = None) -> Result | None:
        """Stream a job; `on_length` gets the number of tokens after each delta; the result unless it failed."""
        prompt, options = self.request(number)
        job = self._invoke(number)
        length = 0
        async with self._ending(job):
            stream = self._client.stream(prompt, job_id=job, **options)
            async for delta in stream:
                fields = {"index": delta.index, "tokens": delta.token_ids, "text": delta.text}
                self._history.note("delta", job=job, reader=self.name, **fields)
                length += len(delta.token_ids)
                if on_length is not None:
                    await on_length(length)
            result = await stream.result()
            self._ok(job, result)
            return result
        return None

    async def leave_and_return(self, number: int) -> None:
        """Submit and disconnect; another client asks for the result, twice."""
        prompt, options = self.request(number)
        job = self._invoke(number)
        async with self._ending(job):
            await self._client.submit(prompt, job_id=job, **options)
            await asyncio.sleep(self._chance.uniform(0.0, 2.0))
            self._ok(job, await self._another.result(job))
            self._ok(job, await self._another.result(job))

    async def cancel(self, number: int) -> None:
        prompt, options = self.request(number)
        job = self._invoke(number)
        async with self._ending(job):
            await self._client.submit(prompt, job_id=job, **options)
            await asyncio.sleep(self._chance.uniform(0.0, 0.3))
            self._history.note("cancel", job=job)
            await self._client.cancel(job)
            self._ok(job, await self._client.result(job))

    def _invoke(self, number: int) -> str:
        job = f"{self._chance.getrandbits(128):032x}"
        self._history.note("invoke", job=job, key=str(number), client=self.name)
        return job

    def _ok(self, job: str, result: Result) -> None:
        fields = {"tokens": result.token_ids, "text": result.text, "finish": result.finish_reason}
        self._history.note("ok", job=job, reader=self.name, **fields)

    @asynccontextmanager
    async def _ending(self, job: str) -> AsyncIterator[None]:
        try:
            yield
        except CactusError as error:
            self._history.note("fail", job=job, reader=self.name, error=error.type, message=error.message)
            await asyncio.sleep(error.retry_after or 0.1)

"""Clients that want all kinds of things at once, and write down what they get."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from cactus_actors.client import AsyncClient
from cactus_actors.protocol.errors import CactusError
from cactus_actors.protocol.results import Result
from tests.chaos.soak.history import History

SUBJECTS = ["a fox", "the sea", "two sisters", "an old clock", "a lost letter", "snow"]
NUM_REQUESTS = 24


def request(number: int) -> tuple[str, dict[str, Any]]:
    """One of a fixed number of requests: its prompt and its options."""
    options = {
        "seed": number,
        "max_tokens": 8 + 13 * (number % 12),
        "temperature": (0.0, 0.7, 1.2)[number % 3],
        "ignore_eos": number % 2 == 0,
        "user": f"user-{number % 4}",
    }
    return f"Tell me a story about {SUBJECTS[number % len(SUBJECTS)]}.", options


class Worker:
    """One client's endless work, until it is told to finish; `another` reads what it left behind."""

    def __init__(
        self,
        name: str,
        client: AsyncClient,
        another: AsyncClient,
        history: History,
        chance: random.Random,
    ) -> None:
        self.name = name
        self._client = client
        self._another = another
        self._history = history
        self._chance = chance
        self.is_finishing = False

    async def run(self) -> None:
        ways = [self._complete, self._stream, self._leave_and_return, self._cancel]
        while not self.is_finishing:
            await self._chance.choice(ways)(self._chance.randrange(NUM_REQUESTS))

    async def _complete(self, number: int) -> None:
        prompt, options = request(number)
        job = self._invoke(number)
        async with self._ending(job):
            self._ok(job, await self._client.complete(prompt, job_id=job, **options))

    async def _stream(self, number: int) -> None:
        prompt, options = request(number)
        job = self._invoke(number)
        async with self._ending(job):
            stream = self._client.stream(prompt, job_id=job, **options)
            async for delta in stream:
                self._note_delta(job, delta)
            self._ok(job, await stream.result())

    async def _leave_and_return(self, number: int) -> None:
        """Submit and leave: somebody else asks for the result, twice."""
        prompt, options = request(number)
        job = self._invoke(number)
        async with self._ending(job):
            await self._client.submit(prompt, job_id=job, **options)
            await asyncio.sleep(self._chance.uniform(0.0, 2.0))
            self._ok(job, await self._another.result(job))
            self._ok(job, await self._another.result(job))

    async def _cancel(self, number: int) -> None:
        prompt, options = request(number)
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

    def _note_delta(self, job: str, delta: Any) -> None:
        fields = {"index": delta.index, "tokens": delta.token_ids, "text": delta.text}
        self._history.note("delta", job=job, reader=self.name, **fields)

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

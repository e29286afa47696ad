"""Small eyes of the tests: when something happened, and how long nothing did."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from cactus_actors.client import AsyncClient
from cactus_actors.protocol.messages import Status
from cactus_actors.protocol.totals import Held


class Pauses:
    """The longest time that any of several readers was shown nothing between its first note and its last."""

    def __init__(self) -> None:
        self._noted_at: dict[str, float] = {}
        self.longest = 0.0

    def note(self, reader: str) -> None:
        now = time.monotonic()
        self.longest = max(self.longest, now - self._noted_at.get(reader, now))
        self._noted_at[reader] = now


def once_after(count: int, fault: Callable[[], None]) -> Callable[[int], Awaitable[None]]:
    """For a stream: makes the fault once, when so many tokens were shown."""
    is_made = False

    async def on_length(length: int) -> None:
        nonlocal is_made
        if length >= count and not is_made:
            is_made = True
            fault()

    return on_length


async def until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    """Fails with a TimeoutError if it does not come true."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.02)


def is_free(status: Status) -> bool:
    """Whether the router holds nothing for anybody, and every local worker all its slots and blocks."""
    held = status.held
    return held == Held(ended_jobs=held.ended_jobs, result_bytes=held.result_bytes) and all(
        (worker.free_slots, worker.free_blocks, worker.num_running) == (worker.num_slots, worker.num_blocks, 0)
        for worker in status.workers
        if worker.kind == "local"
    )


async def until_status(client: AsyncClient, condition: Callable[[Status], bool], seconds: float = 120.0) -> Status:
    """The first status that fulfils `condition`; fails with the last one."""
    deadline = time.monotonic() + seconds
    while True:
        status = await client.status()
        if condition(status):
            return status
        assert time.monotonic() < deadline, status
        await asyncio.sleep(0.02)

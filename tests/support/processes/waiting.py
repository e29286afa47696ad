"""Waits and measurements of events in tests."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from cactus_actors.client import AsyncClient
from cactus_actors.protocol.messages import Status
from cactus_actors.protocol.totals import Held


class Pauses:
    """The longest time between two notes of the same reader."""

    def __init__(self) -> None:
        self._noted_at: dict[str, float] = {}
        self.longest = 0.0

    def note(self, reader: str) -> None:
        now = time.monotonic()
        self.longest = max(self.longest, now - self._noted_at.get(reader, now))
        self._noted_at[reader] = now


def once_after(count: int, fault: Callable[[], None]) -> Callable[[int], Awaitable[None]]:
    """A callback for a stream that injects the fault once, after this number of tokens."""
    is_made = False

    async def on_length(length: int) -> None:
        nonlocal is_made
        if length >= count and not is_made:
            is_made = True
            fault()

    return on_length


async def until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait until `condition` is true; raises TimeoutError otherwise."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.02)


def is_free(status: Status) -> bool:
    """True if the router holds nothing for any client, and every local worker has all its slots and blocks free."""
    held = status.held
    kept = Held(ended_jobs=held.ended_jobs, result_bytes=held.result_bytes, picture_bytes=held.picture_bytes)
    return held == kept and all(
        (worker.free_slots, worker.free_blocks, worker.num_running) == (worker.num_slots, worker.num_blocks, 0)
        for worker in status.workers
        if worker.kind == "local"
    )


async def until_status(client: AsyncClient, condition: Callable[[Status], bool], seconds: float = 120.0) -> Status:
    """The first status that satisfies `condition`; fails with the last one."""
    deadline = time.monotonic() + seconds
    while True:
        status = await client.status()
        if condition(status):
            return status
        assert time.monotonic() < deadline, status
        await asyncio.sleep(0.02)

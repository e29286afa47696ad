"""Network links that go down: the worker runs in its own network namespace."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from cactus_actors.client import AsyncClient
from tests.support.processes.network_link import Link
from tests.support.processes.separate_actors import Processes
from tests.support.processes.waiting import until_status

OPTIONS: dict[str, Any] = {"max_tokens": 160, "ignore_eos": True, "temperature": 0.9, "seed": 4}
PROMPT = "Tell me a story about a fox."
LONG_S = 30.0


@pytest.fixture
def link(need: Callable[[str], None]) -> Iterator[Link]:
    need("ip")
    link = Link()
    yield link
    link.remove()


@asynccontextmanager
async def served(tmp_path: Path, link: Link) -> AsyncIterator[tuple[AsyncClient, Processes]]:
    """A client on this side, and a worker at the other end of the link."""
    prefix = ["ip", "netns", "exec", link.name]
    processes = Processes(tmp_path, worker_prefix=prefix, worker_host=link.host)
    try:
        async with AsyncClient(
            processes.jobs, processes.stream, timeout=120.0, key_file=processes.client_key
        ) as client:
            yield client, processes
    finally:
        processes.stop()


async def undisturbed(client: AsyncClient) -> list[int]:
    return (await client.complete(PROMPT, **OPTIONS)).token_ids


async def broken_after(client: AsyncClient, count: int, fault: Callable[[], None]) -> list[int]:
    """The tokens of a stream during which a fault occurs after a number of tokens."""
    seen: list[int] = []
    is_broken = False
    async for delta in client.stream(PROMPT, **OPTIONS):
        assert delta.index == len(seen)
        seen += delta.token_ids
        if len(seen) >= count and not is_broken:
            is_broken = True
            fault()
    return seen


async def test_a_short_partition_loses_no_job_and_no_token(tmp_path: Path, link: Link) -> None:
    async with served(tmp_path, link) as (client, _):
        expected = await undisturbed(client)

        def partition() -> None:
            link.set("down")
            asyncio.get_running_loop().call_later(2.0, link.set, "up")

        assert await broken_after(client, 20, partition) == expected


@pytest.mark.parametrize("is_one_way", [False, True], ids=["both ways", "worker to router"])
async def test_in_a_long_partition_the_job_moves_and_late_messages_are_ignored(
    tmp_path: Path, link: Link, is_one_way: bool
) -> None:
    async with served(tmp_path, link) as (client, processes):
        expected = await undisturbed(client)
        cut_at = 0.0

        def partition() -> None:
            nonlocal cut_at
            cut_at = time.monotonic()
            if is_one_way:
                link.deafen_router()
            else:
                link.set("down")
            # A second worker, on this side of the link.
            processes._worker_prefix = ()
            processes.workers.append(processes.start_worker("near"))

        assert await broken_after(client, 20, partition) == expected  # it does not wait for the far worker
        await asyncio.sleep(max(0.0, cut_at + LONG_S - time.monotonic()))
        assert [worker.worker_id for worker in (await client.status()).workers] == ["near"]
        if is_one_way:
            link.hear_again()
        else:
            link.set("up")
        await until_status(client, lambda status: len(status.workers) == 2)
        assert await undisturbed(client) == expected
        status = await client.status()
        assert {worker.worker_id for worker in status.workers} == {"w0", "near"}
        assert status.jobs.failed == 0
        assert status.jobs.redispatched >= 1


async def test_a_slow_link_changes_no_token(tmp_path: Path, link: Link, need: Callable[[str], None]) -> None:
    need("tc")
    async with served(tmp_path, link) as (client, _):
        expected = await undisturbed(client)
        link.slow_down("64kbit")
        assert await undisturbed(client) == expected

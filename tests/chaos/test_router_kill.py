"""kill -9 of the router again and again, with real workers: every accepted job ends, with the same tokens."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cactus_actors.client import AsyncClient
from cactus_actors.protocol.results import Result
from tests.support.processes.separate_actors import Processes

NUM_JOBS = 24
NUM_KILLS = 4
OPTIONS = {"max_tokens": 120, "ignore_eos": True, "temperature": 0.9}


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    processes = Processes(tmp_path)
    yield processes
    processes.stop()


def prompt(number: int) -> str:
    return f"Tell me story number {number} about a fox."


@pytest.mark.chaos
async def test_no_accepted_job_is_lost_and_no_token_changes(processes: Processes) -> None:
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    async with AsyncClient(processes.jobs, processes.stream, timeout=120.0) as client:
        undisturbed = [await client.complete(prompt(number), seed=number, **OPTIONS) for number in range(NUM_JOBS)]
        running = asyncio.gather(*(streamed(client, number) for number in range(NUM_JOBS)))
        left = [await client.submit(prompt(number), seed=number, **OPTIONS) for number in range(NUM_JOBS)]
        for _ in range(NUM_KILLS):
            await asyncio.sleep(chance.uniform(0.05, 0.5))
            await asyncio.to_thread(processes.kill_router)
        for expected, (tokens, result) in zip(undisturbed, await running, strict=True):
            assert tokens == result.token_ids == expected.token_ids
            assert result.text == expected.text

    async with AsyncClient(processes.jobs, processes.stream, timeout=60.0) as another:  # which never sent these jobs
        for expected, job_id in zip(undisturbed, left, strict=True):
            result = await another.result(job_id)
            assert result.token_ids == expected.token_ids
        counts = (await another.status()).jobs
    assert counts.queued == counts.running == counts.failed == 0
    assert counts.accepted == counts.finished


async def streamed(client: AsyncClient, number: int) -> tuple[list[int], Result]:
    """The tokens that a client received, and the result."""
    tokens: list[int] = []
    stream = client.stream(prompt(number), seed=number, **OPTIONS)
    async for delta in stream:
        assert delta.index == len(tokens)
        tokens += delta.token_ids
    return tokens, await stream.result()


@pytest.mark.chaos
def test_a_result_is_readable_after_a_kill_long_after_its_client_disconnected(processes: Processes) -> None:
    async def before() -> Result:
        async with AsyncClient(processes.jobs, processes.stream, timeout=120.0) as client:
            return await client.complete(prompt(1), job_id="a" * 32, seed=1, **OPTIONS)

    async def after() -> Result:
        async with AsyncClient(processes.jobs, processes.stream, timeout=60.0) as client:
            return await client.result("a" * 32)

    expected = asyncio.run(before())
    time.sleep(0.2)
    processes.kill_router()
    assert asyncio.run(after()) == expected

"""After load, cancellations, disconnected readers and dead workers nothing is held, on real engines."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections.abc import AsyncIterator, Iterator

import pytest

from cactus_actors.client import AsyncClient
from cactus_actors.protocol.errors import DeadlineExceeded, Overloaded
from tests.support.processes.separate_actors import Processes
from tests.support.processes.waiting import is_free, until_status

pytestmark = pytest.mark.chaos

NUM_JOBS = 40
PROMPT = "The fox went into the wood, and the wood was dark. " * 4
LONG = {"max_tokens": 200, "ignore_eos": True}


@pytest.fixture(scope="module")
def processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Processes]:
    processes = Processes(tmp_path_factory.mktemp("leaks"), num_workers=2)
    yield processes
    processes.stop()


@pytest.fixture
async def operator(processes: Processes) -> AsyncIterator[AsyncClient]:
    async with AsyncClient(processes.jobs, processes.stream, timeout=60.0) as client:
        await until_status(client, lambda status: len(status.workers) == 2)
        yield client


async def ask(client: AsyncClient, number: int, chance: random.Random) -> None:
    """One of the ways in which a client submits a job and stops reading."""
    prompt, way = f"{PROMPT}{number % 7}", number % 5
    if way == 0:
        await client.complete(prompt, seed=number, **LONG)
    elif way == 1:
        async with client.stream(prompt, seed=number, **LONG) as stream:
            async for _ in stream:
                if chance.random() < 0.05:
                    break  # closing the stream cancels its job
    elif way == 2:
        job_id = await client.submit(prompt, seed=number, **LONG)
        await asyncio.sleep(chance.random() * 0.5)
        await client.cancel(job_id)
        await client.cancel(job_id)
    elif way == 3:
        with pytest.raises((DeadlineExceeded, Overloaded)):  # too late, or reported too late
            await client.complete(prompt, seed=number, timeout_ms=30, max_tokens=1000, ignore_eos=True)
    else:
        await client.complete(prompt, seed=number, max_tokens=1 + number % 3)


async def leave(processes: Processes) -> None:
    """A client that disconnects in the middle of its streams; the jobs continue."""
    async with AsyncClient(processes.jobs, processes.stream, timeout=60.0) as client:
        streams = [client.stream(PROMPT, seed=number, **LONG) for number in range(4)]
        await asyncio.gather(*(anext(stream) for stream in streams))


async def test_nothing_is_held_after_cancels_deadlines_disconnects_and_a_lost_worker(
    processes: Processes, operator: AsyncClient
) -> None:
    before = await until_status(operator, is_free)
    chance = random.Random(5)
    asking = asyncio.gather(*(ask(operator, number, chance) for number in range(NUM_JOBS)))
    leaving = asyncio.create_task(leave(processes))
    busy = await until_status(operator, lambda status: all(w.num_running for w in status.workers))
    assert not is_free(busy)
    assert any(worker.free_blocks < worker.num_blocks for worker in busy.workers)
    os.kill(busy.workers[0].pid, signal.SIGKILL)
    processes.add_worker("w2")
    await asking
    await leaving
    await until_status(operator, lambda status: is_free(status) and len(status.workers) == 2)
    status = await operator.status(with_totals=True)
    assert status.totals is not None
    jobs, totals = status.jobs, status.totals
    num_answered = jobs.accepted + jobs.rejected - before.jobs.accepted - before.jobs.rejected
    assert num_answered == NUM_JOBS + 4
    assert jobs.failed > 0
    assert jobs.accepted == jobs.finished + jobs.failed + jobs.cancelled
    assert jobs.accepted == sum(totals.ended.values()) == sum(totals.job_seconds.counts)
    assert totals.attempts["lost"] == jobs.redispatched > 0
    lost = totals.lost_workers
    assert lost["silent"] + lost["unreachable"] == sum(lost.values()) == 1

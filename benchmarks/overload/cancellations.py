"""Cancellations at every phase of a job: the time until its resources are free, and leaks."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable

import zmq

from benchmarks.overload.target import PROMPT, Target, milliseconds
from cactus_actors.client import AsyncClient
from cactus_actors.protocol.messages import Cancel, Status, StatusRequest, Submit
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.wire import encode, router_reply_decoder


async def cancellations(target: Target, count: int) -> dict[str, float]:
    """The time from a cancellation until slot and blocks are free, and the leaks after `count` of them."""
    chance = random.Random(1)
    times: list[float] = []
    async with target.client() as client:
        await _until(lambda: _is_empty(client))
        for _ in range(min(count, 500)):
            stream = client.stream(PROMPT, max_tokens=2000, ignore_eos=True)
            await anext(stream)
            await asyncio.sleep(chance.uniform(0.0, 0.02))
            started = time.perf_counter()
            await stream.close()
            await _until(lambda: _is_empty(client))
            times.append(time.perf_counter() - started)
        await _storm(target, count, chance)
        await _until(lambda: _is_empty(client))
        workers = [it for it in (await client.status()).workers if it.kind == "local"]
    return {
        "free_ms_p50": milliseconds(times, 0.5),
        "free_ms_p99": milliseconds(times, 0.99),
        "cycles": count,
        "blocks_lost": sum(worker.num_blocks - worker.free_blocks for worker in workers),
        "slots_lost": sum(worker.num_slots - worker.free_slots for worker in workers),
    }


async def _storm(target: Target, count: int, chance: random.Random) -> None:
    """Cancel jobs at every phase: before preparation, waiting, in prefill, generating."""
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    socket = context.socket(zmq.DEALER)
    socket.setsockopt(zmq.LINGER, 1000)
    socket.connect(target.jobs)
    prefix = chance.randrange(1 << 64)
    under_way: list[tuple[float, str]] = []
    for number in range(count):
        job_id = f"{prefix:016x}{number:016x}"
        options = Options(max_tokens=200, ignore_eos=True)
        socket.send_multipart(encode(Submit(job_id=job_id, prompt=PROMPT, options=options)))
        under_way.append((time.perf_counter() + chance.choice((0.0, 0.001, 0.01, 0.1)), job_id))
        now = time.perf_counter()
        for _, due in [it for it in under_way if it[0] <= now]:
            socket.send_multipart(encode(Cancel(job_id=due)))
        under_way = [it for it in under_way if it[0] > now]
        while socket.poll(0):
            socket.recv_multipart()
        if number % 20 == 0:
            await asyncio.sleep(0.005)
    for _, job_id in under_way:
        socket.send_multipart(encode(Cancel(job_id=job_id)))
    await _processed(socket)
    socket.close()
    await asyncio.to_thread(context.term)


async def _processed(socket: zmq.Socket[bytes]) -> None:
    """Wait until the router has processed all that was sent before: it reads a connection's messages in their order."""
    socket.send_multipart(encode(StatusRequest()))
    decoder = router_reply_decoder()
    while True:
        if not socket.poll(0):
            await asyncio.sleep(0.001)
        elif isinstance(decoder.decode(socket.recv_multipart()), Status):
            return


async def _is_empty(client: AsyncClient) -> bool:
    status = await client.status()
    return (
        not status.jobs.queued
        and not status.jobs.running
        and all(worker.free_blocks == worker.num_blocks for worker in status.workers)
    )


async def _until(is_so: Callable[[], Awaitable[bool]], patience_s: float = 60.0) -> None:
    until = time.perf_counter() + patience_s
    while not await is_so():
        if time.perf_counter() > until:
            raise TimeoutError("the service does not come to rest")
        await asyncio.sleep(0.001)

"""A subscriber that never reads, and its effect on others."""

from __future__ import annotations

import asyncio
import contextlib
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

from benchmarks.overload.target import PROMPT, Target, milliseconds, percentile
from cactus_actors.client import AsyncClient

FROZEN = """
import sys, time, zmq
stream, count, *topics = sys.argv[1:]
context = zmq.Context()
poller = zmq.Poller()
for _ in range(int(count)):
    socket = context.socket(zmq.SUB)
    socket.setsockopt(zmq.RCVHWM, 10)
    socket.connect(stream)
    for topic in topics:
        socket.subscribe(topic)
    poller.register(socket, zmq.POLLIN)
deadline = time.monotonic() + 30
unheard = dict(poller.sockets)
while unheard and time.monotonic() < deadline:
    for socket, _ in poller.poll(1000):
        poller.unregister(socket)  # which keeps what came next unread
        del unheard[socket]
print("listening", flush=True)
sys.stdin.read()
"""


@contextlib.contextmanager
def frozen_subscribers(stream: str, count: int, topics: list[str]) -> Iterator[None]:
    """A process that subscribes to streams, one of which must be running, and is stopped, so that it never reads."""
    command = [sys.executable, "-c", FROZEN, stream, str(count), *topics]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGSTOP)
        yield
    finally:
        process.kill()
        process.communicate()


async def frozen(target: Target, seconds: float, rounds: int = 5) -> dict[str, float]:
    """Times between the tokens of a stream, without and with a subscriber of another stream that never reads."""
    gaps: dict[bool, list[float]] = {False: [], True: []}
    grown = 0.0
    async with target.client() as client, target.client() as other:
        for _ in range(rounds):
            for is_frozen in (False, True):
                topics = [f"{random.randrange(1 << 128):032x}" for _ in range(100)]
                publishing = asyncio.create_task(_publish(other, topics))
                await asyncio.sleep(0.2)
                before = target.resident_mib()
                with contextlib.ExitStack() as stack:
                    if is_frozen:
                        subscribers = frozen_subscribers(target.stream, 1, topics)
                        await asyncio.to_thread(stack.enter_context, subscribers)
                    gaps[is_frozen] += await _gaps(client, seconds / rounds / 2)
                    if is_frozen:
                        grown = max(grown, target.resident_mib() - before)
                    publishing.cancel()
                    await asyncio.gather(publishing, return_exceptions=True)
    return {
        "gap_ms_p50_without": milliseconds(gaps[False], 0.5),
        "gap_ms_p50_with": milliseconds(gaps[True], 0.5),
        "gap_ms_p99_without": milliseconds(gaps[False], 0.99),
        "gap_ms_p99_with": milliseconds(gaps[True], 0.99),
        "ratio_p99": round(percentile(gaps[True], 0.99) / percentile(gaps[False], 0.99), 2),
        "router_mib_grown": round(grown, 2),
    }


async def _publish(client: AsyncClient, job_ids: list[str]) -> None:
    for job_id in job_ids:
        async for _ in client.stream(PROMPT, job_id=job_id, max_tokens=900, ignore_eos=True):
            pass


async def _gaps(client: AsyncClient, seconds: float) -> list[float]:
    gaps: list[float] = []
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        before = None
        async for _ in client.stream(PROMPT, max_tokens=300, ignore_eos=True):
            now = time.perf_counter()
            if before is not None:
                gaps.append(now - before)
            before = now
    return gaps

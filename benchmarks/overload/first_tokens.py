"""Times to first token of one user while other users exceed the capacity of the service."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import time
from typing import Any

from benchmarks.overload.target import PROMPT, Target, milliseconds, percentile
from cactus_actors.client import AsyncClient
from cactus_actors.protocol.errors import CactusError


async def first_token_times(
    client: AsyncClient, seconds: float, *, pause_s: float = 0.05, **options: Any
) -> list[float]:
    """Seconds to the first token of requests that are sent one after the other."""
    times: list[float] = []
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        started = time.perf_counter()
        stream = client.stream(PROMPT, **{"max_tokens": 8, "ignore_eos": True, **options})
        async for _ in stream:
            times.append(time.perf_counter() - started)
            break
        with contextlib.suppress(CactusError):
            await stream.close()
        await asyncio.sleep(pause_s)
    return times


async def two_users(target: Target, seconds: float, factor: int = 20) -> dict[str, float]:
    """Times to first token of a user next to one who has `factor` times as many requests in flight."""
    return await _beside_others(target, seconds, factor, user="busy", max_tokens=128)


async def prompt_file(target: Target, seconds: float, num_lines: int = 64) -> dict[str, float]:
    """Times to first token of a user next to background work that fills every slot."""
    return await _beside_others(target, seconds, num_lines, user="", max_tokens=128, priority=10)


async def _beside_others(target: Target, seconds: float, count: int, **others: Any) -> dict[str, float]:
    async with target.client() as client:
        alone = await first_token_times(client, seconds, user="rare", pause_s=0.02)
        crowd = await _crowd(target, count, others)
        await asyncio.sleep(1.0)
        beside = await first_token_times(client, seconds, user="rare", pause_s=0.02)
        num_done, _ = await crowd.communicate(b"")  # closes its input
    p95_alone, p95_beside = percentile(alone, 0.95), percentile(beside, 0.95)
    return {
        "first_token_ms_p50_alone": milliseconds(alone, 0.5),
        "first_token_ms_p50_beside": milliseconds(beside, 0.5),
        "first_token_ms_p95_alone": milliseconds(alone, 0.95),
        "first_token_ms_p95_beside": milliseconds(beside, 0.95),
        "ratio_p95": round(p95_beside / p95_alone, 2),
        "requests": len(beside),
        "others_done": int(num_done),
    }


CROWD = """
import asyncio, json, sys
from cactus_actors import AsyncClient

async def main(jobs, stream, count, options):
    num_done = 0

    async def keep_busy():
        nonlocal num_done
        while not told_to_end.done():
            await client.complete(**options)
            num_done += 1

    async with AsyncClient(jobs, stream) as client:
        told_to_end = asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
        await asyncio.gather(*(keep_busy() for _ in range(int(count))))
    print(num_done)

jobs, stream, count, options = sys.argv[1:]
asyncio.run(main(jobs, stream, count, json.loads(options)))
"""


async def _crowd(target: Target, count: int, options: dict[str, Any]) -> asyncio.subprocess.Process:
    """A process with this number of requests in flight; it ends with its input, and prints the number of answers."""
    request = json.dumps({"prompt": PROMPT, "ignore_eos": True, **options})
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", CROWD, target.jobs, target.stream, str(count), request),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )

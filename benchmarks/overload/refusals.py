"""Refusals at many times the capacity: their latency, the router's memory, and the recovery."""

from __future__ import annotations

import asyncio
import random
import time
from dataclasses import dataclass, field
from typing import Any

import zmq

from benchmarks.overload.first_tokens import first_token_times
from benchmarks.overload.target import PROMPT, Target, milliseconds, percentile
from cactus_actors.client import AsyncClient
from cactus_actors.protocol.messages import Accepted, Finished, Rejected, Submit
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.wire import encode, router_reply_decoder

TURN_S = 0.005


@dataclass
class Flood:
    """Submits at a rate that does not depend on the answers; records the time of each refusal and acceptance."""

    target: Target
    rate: float
    options: Options
    num_sent: int = 0
    refused_s: list[float] = field(default_factory=list)
    accepted_s: list[float] = field(default_factory=list)
    retry_after_s: list[float] = field(default_factory=list)
    unfinished: set[str] = field(default_factory=set)

    async def run(self, seconds: float) -> None:
        context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        socket = context.socket(zmq.DEALER)
        socket.setsockopt(zmq.LINGER, 0)
        socket.setsockopt(zmq.SNDHWM, 0)
        socket.connect(self.target.jobs)
        decode = router_reply_decoder().decode
        sent_at: dict[str, float] = {}
        prefix = random.randrange(1 << 64)
        started = time.perf_counter()
        while (now := time.perf_counter()) < started + seconds:
            while self.num_sent < (now - started) * self.rate:
                job_id = f"{prefix:016x}{self.num_sent:016x}"
                sent_at[job_id] = time.perf_counter()
                socket.send_multipart(encode(Submit(job_id=job_id, prompt=PROMPT, options=self.options)))
                self.num_sent += 1
            while socket.poll(0):
                self._take(decode(socket.recv_multipart()), sent_at)
            await asyncio.sleep(TURN_S)
        socket.close()
        context.term()

    def _take(self, reply: Any, sent_at: dict[str, float]) -> None:
        match reply:
            case Rejected() if reply.job_id is not None:
                self.refused_s.append(time.perf_counter() - sent_at[reply.job_id])
                self.retry_after_s.append(reply.error.retry_after or 0.0)
            case Accepted():
                self.accepted_s.append(time.perf_counter() - sent_at[reply.job_id])
                self.unfinished.add(reply.job_id)
            case Finished():
                self.unfinished.discard(reply.job_id)


async def overload(target: Target, seconds: float, factor: float = 10.0) -> dict[str, float]:
    """Refusals at `factor` times the capacity: their latency, the router's memory, and the recovery."""
    async with target.client() as client:
        alone = await first_token_times(client, min(5.0, seconds), user="alone")
        capacity = await _jobs_a_second(client, min(5.0, seconds))
        flood = Flood(target, capacity * factor, Options(max_tokens=64, ignore_eos=True, user="flood"))
        before, most = target.resident_mib(), 0.0
        running = asyncio.create_task(flood.run(seconds))
        while not running.done():
            await asyncio.sleep(0.1)
            most = max(most, target.resident_mib())
        await running
        await asyncio.sleep(5.0)
        after = await first_token_times(client, min(5.0, seconds), user="alone")
        for job_id in flood.unfinished:
            await client.cancel(job_id)
    settled = flood.refused_s[len(flood.refused_s) // 10 :]
    return {
        "jobs_per_second": round(capacity, 1),
        "offered_per_second": round(flood.num_sent / seconds, 1),
        "refused": len(flood.refused_s),
        "refusal_ms_p50": milliseconds(settled, 0.5),
        "refusal_ms_p99": milliseconds(settled, 0.99),
        "retry_after_s_p50": round(percentile(flood.retry_after_s, 0.5), 2),
        "router_mib_before": round(before, 1),
        "router_mib_most": round(most, 1),
        "first_token_ms_p50_before": milliseconds(alone, 0.5),
        "first_token_ms_p50_5s_after": milliseconds(after, 0.5),
        "first_token_ms_p95_before": milliseconds(alone, 0.95),
        "first_token_ms_p95_5s_after": milliseconds(after, 0.95),
    }


async def _jobs_a_second(client: AsyncClient, seconds: float) -> float:
    """Jobs per second that the service finishes when it always has enough work."""
    num_done, started = 0, time.perf_counter()

    async def work() -> None:
        nonlocal num_done
        while time.perf_counter() < started + seconds:
            await client.complete(PROMPT, max_tokens=64, ignore_eos=True, user="flood")
            num_done += 1

    await asyncio.gather(*(work() for _ in range(24)))
    return num_done / (time.perf_counter() - started)

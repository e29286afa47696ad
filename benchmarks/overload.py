"""A service under more work than it can do: what is refused, what it takes, and what the others notice.

python -m benchmarks.overload --seconds 60

`cactus serve` is started with one worker; the clients run beside it on the same machine.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import zmq

from benchmarks.server_process import cactus_serve, end_servers_on_signal
from cactus_actors.client import AsyncClient
from cactus_actors.protocol.errors import CactusError
from cactus_actors.protocol.messages import Accepted, Cancel, Finished, Rejected, Submit
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.wire import encode, router_reply_decoder

MIB = 1024 * 1024
PROMPT = "Tell me a story about a fox and a crow who share one piece of cheese."
TURN_S = 0.005


@dataclass(frozen=True)
class Target:
    """A running service."""

    jobs: str
    stream: str
    router_pid: int

    def resident_mib(self) -> float:
        """The router's memory, and that of its process with the sockets of clients."""
        pids = [self.router_pid, *_children(self.router_pid, b"router.edge.child")]
        pages = sum(int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in pids)
        return pages * os.sysconf("SC_PAGE_SIZE") / MIB

    @contextlib.asynccontextmanager
    async def client(self) -> AsyncIterator[AsyncClient]:
        async with AsyncClient(self.jobs, self.stream, timeout=120.0) as client:
            yield client


def percentile(values: list[float], share: float) -> float:
    """NaN without values."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else float("nan")


def milliseconds(values: list[float], share: float) -> float:
    return round(1000 * percentile(values, share), 2)


@dataclass
class Flood:
    """Submits at a rate, whatever the answers are; when each was refused, and when each was accepted."""

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


async def first_token_times(
    client: AsyncClient, seconds: float, *, pause_s: float = 0.05, **options: Any
) -> list[float]:
    """Seconds to the first token of one request after the other."""
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


async def overload(target: Target, seconds: float, factor: float = 10.0) -> dict[str, float]:
    """Refusals at `factor` times what is done: their time, the router's memory, and the recovery after."""
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
    """What the service finishes with always enough to do."""
    num_done, started = 0, time.perf_counter()

    async def work() -> None:
        nonlocal num_done
        while time.perf_counter() < started + seconds:
            await client.complete(PROMPT, max_tokens=64, ignore_eos=True, user="flood")
            num_done += 1

    await asyncio.gather(*(work() for _ in range(24)))
    return num_done / (time.perf_counter() - started)


async def two_users(target: Target, seconds: float, factor: int = 20) -> dict[str, float]:
    """First-token times of a user beside one who has `factor` times as many requests under way."""
    return await _beside_others(target, seconds, factor, user="busy", max_tokens=128)


async def prompt_file(target: Target, seconds: float, num_lines: int = 64) -> dict[str, float]:
    """First-token times of a user beside background work that fills every slot."""
    return await _beside_others(target, seconds, num_lines, user="", max_tokens=128, priority=10)


async def _beside_others(target: Target, seconds: float, count: int, **others: Any) -> dict[str, float]:
    async with target.client() as client:
        alone = await first_token_times(client, seconds, user="rare", pause_s=0.02)
        crowd = await _crowd(target, count, others)
        await asyncio.sleep(1.0)
        beside = await first_token_times(client, seconds, user="rare", pause_s=0.02)
        num_done, _ = await crowd.communicate(b"")  # which closes its input
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
    """A process with so many requests under way; its input's end ends it, and it prints how many it did."""
    request = json.dumps({"prompt": PROMPT, "ignore_eos": True, **options})
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", CROWD, target.jobs, target.stream, str(count), request),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )


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
    """A process that listens to streams, one of which must be running, and is stopped: it never reads."""
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
    """Times between the tokens of a stream, in turns without and with somebody who never reads another."""
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


async def cancellations(target: Target, count: int) -> dict[str, float]:
    """The time from a cancellation until slot and blocks are free, and what is missing after `count`."""
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
    """Jobs that are cancelled at every phase: before they are prepared, waiting, computing, generating."""
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
    socket.close()
    await asyncio.to_thread(context.term)


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


async def measure(target: Target, seconds: float) -> None:
    """Print every table."""
    for name, figures in (
        ("overload", overload(target, seconds)),
        ("two users", two_users(target, min(20.0, seconds))),
        ("prompt file", prompt_file(target, min(20.0, seconds))),
        ("frozen subscriber", frozen(target, min(40.0, seconds))),
        ("cancellations", cancellations(target, 10_000)),
    ):
        print(json.dumps({"what": name, **await figures}), flush=True)


def _newest_router() -> int:
    """The process of the router actor that was started last, on either placement."""
    routers = [
        int(path.parent.name)
        for path in Path("/proc").glob("[0-9]*/cmdline")
        if b"RouterActor" in path.read_bytes()
    ]
    return max(routers, key=_started_at)


def _children(parent: int, title: bytes) -> list[int]:
    """The processes that a process has started with that in their command line."""
    found = []
    for directory in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            fields = (directory / "stat").read_text().rpartition(")")[2].split()
            if int(fields[1]) == parent and title in (directory / "cmdline").read_bytes():
                found.append(int(directory.name))
    return found


def _started_at(pid: int) -> int:
    """Clock ticks after the boot: field 22 of proc_pid_stat(5)."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--options", default="", help="more options of cactus serve, between blanks")
    arguments = parser.parse_args()
    end_servers_on_signal()
    options = ["--no-http", *arguments.options.split()]
    with cactus_serve(options, Path(__file__).parents[1]) as service:
        target = Target(service.jobs, service.stream, _newest_router())
        asyncio.run(measure(target, arguments.seconds))


if __name__ == "__main__":
    main()

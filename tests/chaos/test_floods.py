"""Floods against a router: the resources that they use are bounded, and other clients are served meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import zmq

from benchmarks.overload.frozen import frozen_subscribers
from benchmarks.overload.target import Target
from cactus_actors.client import AsyncClient, Client
from cactus_actors.protocol.messages import Cancel, StatusRequest, Submit
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.wire import MAX_MESSAGE_BYTES, encode
from cactus_actors.protocol.worker_messages import Report
from cactus_actors.router.auth.bound_sockets import STREAM_HIGH_WATER_MARK
from tests.support.processes.process_usage import MIB, MemoryGrowth, cpu_seconds, edge_of
from tests.support.processes.separate_actors import Processes
from tests.support.router.raw_peer import MORE, RawPeer, address_of, frame

pytestmark = pytest.mark.chaos

ENDLESS = {"max_tokens": 900, "ignore_eos": True}
LONG = {"max_tokens": 400, "ignore_eos": True, "temperature": 0.0}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Processes]:
    service = Processes(tmp_path_factory.mktemp("floods"), has_journal=False)
    with Client(service.jobs, service.stream, timeout=60.0) as client:
        client.complete("Hi", max_tokens=2)  # the worker is ready, and its code is compiled
    yield service
    service.stop()


def serves(service: Processes) -> None:
    """True if a well-behaved client gets its tokens at once, and all of them."""
    with Client(service.jobs, service.stream, timeout=60.0) as client:
        stream = client.stream("Once upon a time", **LONG)
        tokens = [token for delta in stream for token in delta.token_ids]
        assert tokens == stream.result().token_ids
        assert len(tokens) == LONG["max_tokens"]


def refused(service: Processes) -> dict[str, int]:
    with Client(service.jobs, service.stream, timeout=60.0) as client:
        return client.status().refused


def test_bytes_that_are_not_zeromq_do_no_harm(service: Processes) -> None:
    chance = random.Random(7)
    watch = MemoryGrowth(edge_of(service.router.pid))
    for endpoint in (service.jobs, service.stream, service.workers_endpoint):
        contents = [chance.randbytes(chance.randrange(1, 2000)) for _ in range(60)]
        contents += [b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", bytes(200), b"\xff" * 200]
        for content in contents:
            with socket.create_connection(address_of(endpoint), timeout=5.0) as connection:
                connection.sendall(content)
    watch.look_for(0.5)
    serves(service)
    assert watch.most < 16 * MIB


def test_a_connection_that_floods_with_subscriptions_is_closed(service: Processes) -> None:
    before = refused(service)
    watch = MemoryGrowth(edge_of(service.router.pid))
    peer = RawPeer(service.stream, "SUB")
    flood = b"".join(frame(b"\1" + f"{number:032x}".encode()) for number in range(100_000))
    peer.socket.settimeout(60.0)
    peer.send(flood)
    assert peer.is_closed()
    watch.look_for(0.5)
    peer.close()
    after = refused(service)
    assert after["flood"] == before.get("flood", 0) + 1
    assert after["too_many_subscriptions"] - before.get("too_many_subscriptions", 0) > 1000
    serves(service)
    assert watch.most < 128 * MIB


@pytest.mark.parametrize("length", [100, 1000])
def test_a_connection_with_invalid_topics_is_closed_sooner(service: Processes, length: int) -> None:
    """ZeroMQ uses about 50 bytes for each byte of a topic."""
    watch = MemoryGrowth(edge_of(service.router.pid))
    peer = RawPeer(service.stream, "SUB")
    chance = random.Random(3)
    peer.send(b"".join(frame(b"\1" + chance.randbytes(length)) for _ in range(20_000_000 // length)))
    assert peer.is_closed()
    watch.look_for(0.5)
    peer.close()
    serves(service)
    assert watch.most < 256 * MIB


def test_unfinished_messages_use_only_the_memory_of_their_frames(service: Processes) -> None:
    """ZeroMQ keeps the frames of an unfinished message."""
    watch = MemoryGrowth(edge_of(service.router.pid))
    peer = RawPeer(service.jobs, "DEALER")
    peer.send(frame(b"", MORE) * 1_000_000)
    peer.send(frame(bytes(60_000), MORE) * 1000)
    watch.look_for(0.5)
    serves(service)
    assert watch.most < 256 * MIB
    peer.close()
    until = time.monotonic() + 60.0
    while watch.look() > 160 * MIB:
        assert time.monotonic() < until, "what the frames took is not given back"
        time.sleep(0.1)
    serves(service)


def test_a_flood_of_reports_is_cut_and_streams_continue(service: Processes) -> None:
    before = refused(service).get("flood", 0)
    watch = MemoryGrowth(service.router.pid)
    peer = RawPeer(service.workers_endpoint, "DEALER")
    header, payload = encode(Report(0, 1, 1, 0, []))
    peer.socket.settimeout(60.0)
    peer.send((frame(header, MORE) + frame(payload)) * 100_000)
    assert peer.is_closed()
    peer.close()
    watch.look()
    serves(service)
    assert refused(service)["flood"] == before + 1
    assert watch.most < 64 * MIB


def test_many_connections_reset_while_the_router_is_behind_end_no_process(service: Processes) -> None:
    header, payload = encode(StatusRequest())
    peers = [RawPeer(service.jobs, "DEALER") for _ in range(200)]
    for peer in peers:
        peer.send((frame(header, MORE) + frame(payload)) * 200)
    for peer in peers:
        peer.reset()
    serves(service)
    time.sleep(1.0)
    assert service.router.poll() is None
    serves(service)


ASKER = """
import asyncio, sys
from cactus_actors.client import AsyncClient
async def ask_all_the_time():
    async with AsyncClient(*sys.argv[1:], timeout=60.0) as client:
        await client.status()
        print("asking", flush=True)
        asked = set()
        while True:
            asked.add(asyncio.create_task(client.status()))
            await asyncio.sleep(0.005)
asyncio.run(ask_all_the_time())
"""


def test_killing_a_busy_client_while_the_router_is_stopped_ends_no_process(service: Processes) -> None:
    command = [sys.executable, "-c", ASKER, service.jobs, service.stream]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "asking\n"
        service.router.send_signal(signal.SIGSTOP)
        time.sleep(2.5)
        process.kill()
    service.router.send_signal(signal.SIGCONT)
    serves(service)
    time.sleep(1.0)
    assert service.router.poll() is None


def test_a_client_that_never_reads_its_status_replies_delays_no_other_client(service: Processes) -> None:
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    socket = context.socket(zmq.DEALER)
    socket.setsockopt(zmq.LINGER, 0)
    socket.setsockopt(zmq.RCVHWM, 1)
    socket.setsockopt(zmq.SNDTIMEO, 20_000)
    socket.connect(service.jobs)
    watch = MemoryGrowth(edge_of(service.router.pid))
    for _ in range(20_000):
        socket.send_multipart(encode(StatusRequest()))
    serves(service)
    watch.look_for(0.2)
    socket.close()
    context.term()
    assert watch.most < 96 * MIB


async def test_a_storm_of_cancellations_leaks_nothing(service: Processes) -> None:
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    socket = context.socket(zmq.DEALER)
    socket.setsockopt(zmq.LINGER, 0)
    socket.connect(service.jobs)
    async with AsyncClient(service.jobs, service.stream, timeout=60.0) as client:
        before = (await client.status()).workers[0]
        chance = random.Random(5)
        for round_number in range(10):
            for number in range(100):
                job_id = f"{0xC0000 + round_number * 100 + number:032x}"
                options = Options(max_tokens=400, ignore_eos=True)
                socket.send_multipart(encode(Submit(job_id=job_id, prompt="A storm", options=options)))
                for _ in range(chance.randrange(1, 4)):
                    socket.send_multipart(encode(Cancel(job_id=job_id)))
            await asyncio.sleep(chance.uniform(0.0, 0.1))
        until = time.monotonic() + 60.0
        while (status := await client.status()).jobs.queued or status.jobs.running:
            assert time.monotonic() < until, status.jobs
        jobs = status.jobs
        assert jobs.accepted == jobs.finished + jobs.failed + jobs.cancelled
        until = time.monotonic() + 60.0
        while (now := (await client.status()).workers[0]).free_blocks != before.num_blocks:
            assert time.monotonic() < until, f"{before.num_blocks - now.free_blocks} blocks are gone"
            await asyncio.sleep(0.05)
        assert now.free_slots == now.num_slots
    socket.close()
    context.term()
    serves(service)


@pytest.mark.parametrize("count", [200])
async def test_subscribers_that_never_read_use_bounded_memory(service: Processes, count: int) -> None:
    target = Target(service.jobs, service.stream, service.router.pid)
    topics = [f"{0xF000 + number:032x}" for number in range(4)]
    async with AsyncClient(service.jobs, service.stream, timeout=60.0) as client:
        first = client.stream("An endless story", job_id=topics[0], **ENDLESS)
        await anext(first)
        with contextlib.ExitStack() as stack:
            subscribers = frozen_subscribers(service.stream, count, topics)
            await asyncio.to_thread(stack.enter_context, subscribers)
            before = target.resident_mib()
            results = [await first.result()]
            for topic in topics[1:]:
                results.append(await client.stream("An endless story", job_id=topic, **ENDLESS).result())
            taken = target.resident_mib() - before
    print(f"{1024 * taken / count:.0f} KiB a subscriber")
    assert sum(len(result.token_ids) for result in results) > STREAM_HIGH_WATER_MARK
    assert taken / count < 1.0
    serves(service)


def send_without_pause(endpoint: str, content: bytes, is_over: threading.Event) -> None:
    """Send a message again and again, over a new connection whenever one is cut."""
    while not is_over.is_set():
        with contextlib.suppress(OSError):
            peer = RawPeer(endpoint, "DEALER", receive_buffer=4096)
            peer.socket.settimeout(1.0)
            try:
                while not is_over.is_set():
                    peer.socket.sendall(content)
            finally:
                peer.close()


@pytest.mark.parametrize("kind", ["a prompt", "zeros", "many objects"])
def test_a_flood_of_large_messages_neither_ends_the_edge_nor_blocks_other_clients(
    service: Processes, kind: str
) -> None:
    header, payload = {
        "a prompt": encode(Submit(job_id=f"{0xAAAA:032x}", prompt="word " * 830_000)),
        "zeros": [b"\x01m", bytes(MAX_MESSAGE_BYTES)],
        "many objects": [b"\x01j", b'{"type":"submit","messages":[' + b'{"role":"user"},' * 240_000 + b"{}]}"],
    }[kind]
    edge, before = edge_of(service.router.pid), refused(service).get("large_messages", 0)
    watch, is_over = MemoryGrowth(edge), threading.Event()
    content = frame(header, MORE) + frame(payload)
    threads = [threading.Thread(target=send_without_pause, args=(service.jobs, content, is_over)) for _ in range(10)]
    for thread in threads:
        thread.start()
    answered: list[float] = []
    try:
        until_time = time.monotonic() + 6.0
        with Client(service.jobs, service.stream, timeout=60.0) as client:
            while time.monotonic() < until_time:
                requested_at = time.monotonic()
                client.complete("Hi", max_tokens=2)
                answered.append(time.monotonic() - requested_at)
                watch.look()
                time.sleep(0.05)
    finally:
        is_over.set()
        for thread in threads:
            thread.join()
    print(f"{kind}: {len(answered)} answers, the latest after {max(answered):.2f} s, edge {watch.most / MIB:.0f} MiB")
    assert max(answered) < 10.0
    assert edge_of(service.router.pid) == edge
    assert refused(service)["large_messages"] > before
    serves(service)


@pytest.fixture(scope="module")
def cramped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Processes]:
    """A router that may open 256 files."""
    few_files = ("bash", "-c", 'ulimit -n 256; exec "$@"', "--")
    service = Processes(tmp_path_factory.mktemp("cramped"), router_prefix=few_files, has_journal=False)
    with Client(service.jobs, service.stream, timeout=60.0) as client:
        client.complete("Hi", max_tokens=2)
    yield service
    service.stop()


async def test_silent_connections_cut_no_client_and_soon_make_room_for_new_ones(
    cramped: Processes,
) -> None:
    address = address_of(cramped.jobs)
    async with AsyncClient(cramped.jobs, cramped.stream, timeout=60.0) as client:
        await client.complete("Hi", max_tokens=2)
        idle = [socket.socket() for _ in range(2000)]
        edge = edge_of(cramped.router.pid)
        used, since = cpu_seconds(edge), time.monotonic()
        for connection in idle:
            connection.setblocking(False)
            connection.connect_ex(address)
        async with AsyncClient(cramped.jobs, cramped.stream, timeout=30.0) as newcomer:
            waiting = asyncio.create_task(newcomer.complete("Hi", max_tokens=2))
            answered: list[float] = []
            while time.monotonic() - since < 5.0 or not waiting.done():
                assert time.monotonic() - since < 60.0
                requested_at = time.monotonic()
                assert (await client.complete("Still there?", max_tokens=8)).attempts == 1
                answered.append(time.monotonic() - requested_at)
                await asyncio.sleep(0.1)
            await waiting
            status = await client.status()
            assert status.jobs.redispatched == 0
            assert status.refused["silent"] > 100
        used = (cpu_seconds(edge) - used) / (time.monotonic() - since)
        for connection in idle:
            connection.close()
    print(f"{used:.2f} s of CPU a second, a client that was connected waited {max(answered):.2f} s at most")
    assert max(answered) < 20.0
    assert used < 0.5


def test_a_router_that_exceeds_its_memory_limit_ends_and_its_jobs_continue(tmp_path: Path) -> None:
    service = Processes(tmp_path, max_memory_bytes=60 * MIB)
    try:
        with Client(service.jobs, service.stream, timeout=60.0) as client:
            expected = client.complete("Tell me a story", seed=1, **LONG)
            watch = MemoryGrowth(service.router.pid)
            large = RawPeer(service.workers_endpoint, "DEALER")
            large.send(frame(bytes(1_000_000), MORE) * 300)
            watch.look()
            is_closed = large.is_closed()
            large.close()
            assert is_closed  # ZeroMQ itself disconnects a peer that sends more than its buffer holds
            assert service.router.poll() is None
            assert watch.most < 80 * MIB

            job_id = client.submit("Tell me a story", seed=1, **LONG)
            small = RawPeer(service.workers_endpoint, "DEALER")
            small.send(frame(b"", MORE) * 3_000_000)
            small.close()
            assert service.router.wait(timeout=60.0) != 0
            since = time.monotonic()
            service.kill_router()  # lost processes are started again
            assert client.result(job_id).token_ids == expected.token_ids
            print(f"back after {time.monotonic() - since:.1f} s")
        assert service.workers[0].poll() is None  # the same worker, which kept decoding
    finally:
        service.stop()

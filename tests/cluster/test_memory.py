"""Clients that try to fill a service's memory: the buffers are bounded, and a process over its limit ends alone."""

from __future__ import annotations

import re
import resource
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import zmq

from cactus_actors.client import Client
from cactus_actors.config import ServeConfig
from cactus_actors.protocol.messages import Status, Submit
from cactus_actors.protocol.pictures import MAX_PICTURE_BYTES
from cactus_actors.protocol.wire import MAX_MESSAGE_BYTES, encode
from cactus_actors.router.auth.unfinished_messages import MAX_GROWTH_BYTES
from tests.support.processes.open_sockets import pid_of_router
from tests.support.processes.process_usage import MIB, MemoryGrowth, edge_of
from tests.support.router.core_harness import job_id
from tests.support.router.raw_peer import LONG, MORE, RawPeer, frame
from tests.support.router.scripted_router import until
from tests.support.services.running_service import Running, running_service

pytestmark = [
    pytest.mark.chaos,
    pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="looks at /proc"),
]

STORY = "Tell me a story"
OPTIONS: dict[str, Any] = {"max_tokens": 600, "ignore_eos": True, "seed": 3}
NUM_JOBS = 16
ROOM = 8 * MIB
UNFINISHED = {
    "small frames": (frame(b"", MORE), 4_000_000),
    "large frames": (frame(bytes(60_000), MORE), 10_000),
}
"""A frame of a message without an end, and how often it is sent."""
TOO_LARGE = bytes([LONG]) + (2 * MAX_PICTURE_BYTES).to_bytes(8, "big")
"""The head of a frame; the bytes after it are sent, too."""


@pytest.fixture
def running(place: dict[str, Any], tmp_path: Path) -> Iterator[Running]:
    any_port = "tcp://127.0.0.1:*"
    config = ServeConfig(
        workers=1, jobs_endpoint=any_port, stream_endpoint=any_port, state_dir=tmp_path, http="", **place
    )
    with running_service(config) as running:
        yield running


def test_unfinished_and_oversized_messages_use_little_memory_and_affect_no_job(
    running: Running,
) -> None:
    client, jobs = running.client, running.endpoints.jobs
    expected = client.complete(STORY, **OPTIONS)
    router = pid_of_router(jobs)
    edge = edge_of(router)
    before = client.status()
    of_edge, of_router = MemoryGrowth(edge), MemoryGrowth(router)
    job_ids = [client.submit(STORY, **OPTIONS) for _ in range(NUM_JOBS)]
    for part, count in (*UNFINISHED.values(), (TOO_LARGE + bytes(2 * MAX_PICTURE_BYTES), 1)):
        peer = RawPeer(jobs, "DEALER")
        sending = threading.Thread(target=peer.send, args=(part * count,))
        sending.start()
        while sending.is_alive():
            of_edge.look()
            of_router.look()
            time.sleep(0.002)
        assert peer.is_closed(60.0)
        peer.close()
        until(lambda: of_edge.look() < 32 * MIB)
    assert all(client.result(job_id).token_ids == expected.token_ids for job_id in job_ids)
    after = client.status()
    print(f"edge process {of_edge.most / MIB:.0f} MiB, router {of_router.most / MIB:.0f} MiB at most")
    assert of_edge.most < MAX_GROWTH_BYTES + 200 * MIB
    assert of_router.most < 32 * MIB
    assert (pid_of_router(jobs), edge_of(router), after.epoch) == (router, edge, before.epoch)
    assert after.refused["unfinished"] == before.refused.get("unfinished", 0) + len(UNFINISHED)
    assert pids(after) == pids(before)


def fill_edge(running: Running) -> None:
    peer = RawPeer(running.endpoints.jobs, "DEALER")
    part, count = UNFINISHED["small frames"]
    peer.send(part * count)
    peer.close()


def fill_router(running: Running) -> None:
    """Send requests faster than they can be prepared, until the router has ended."""
    router = Path(f"/proc/{pid_of_router(running.endpoints.jobs)}/fd/0")
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    with context, context.socket(zmq.DEALER) as peer:
        peer.setsockopt(zmq.LINGER, 0)
        peer.setsockopt(zmq.SNDTIMEO, 60_000)
        peer.connect(running.endpoints.jobs)
        text = "word " * (MAX_MESSAGE_BYTES // 6)
        for number in range(32):
            peer.send_multipart(encode(Submit(job_id=job_id(number), prompt=text)))
        until(lambda: not router.exists())


@pytest.mark.parametrize(
    ("pid_of", "fill", "ends_the_router"),
    [
        (lambda router: edge_of(router), fill_edge, False),
        (lambda router: router, fill_router, True),
    ],
    ids=["edge process", "router"],
)
def test_a_process_at_its_memory_limit_restarts_and_jobs_and_workers_continue(
    running: Running, pid_of: Callable[[int], int], fill: Callable[[Running], None], ends_the_router: bool
) -> None:
    client, jobs = running.client, running.endpoints.jobs
    expected = client.complete(STORY, **OPTIONS)
    before, router = client.status(), pid_of_router(jobs)
    full = pid_of(router)
    job_ids = [client.submit(STORY, **OPTIONS) for _ in range(NUM_JOBS)]
    leave_little_room(full)
    fill(running)
    until(lambda: not Path(f"/proc/{full}/fd/0").exists())
    with Client(jobs, running.endpoints.stream, timeout=60.0) as other:
        after = other.status()
    assert (after.epoch != before.epoch) == ends_the_router
    assert all(client.result(job_id).token_ids == expected.token_ids for job_id in job_ids)
    until(lambda: pids(client.status()) == pids(before))


def leave_little_room(pid: int) -> None:
    """Set its memory limit slightly above its present size: RLIMIT_DATA of getrlimit(2) counts VmData of proc(5)."""
    found = re.search(r"^VmData:\s+(\d+) kB$", Path(f"/proc/{pid}/status").read_text(), re.M)
    assert found is not None
    limit = 1024 * int(found[1]) + ROOM
    resource.prlimit(pid, resource.RLIMIT_DATA, (limit, limit))


def pids(status: Status) -> set[int]:
    return {worker.pid for worker in status.workers}

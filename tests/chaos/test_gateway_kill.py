"""A real service under HTTP load whose gateway or router dies, whose clients leave, whose workers change."""

from __future__ import annotations

import os
import re
import signal
import socket
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from cactus_actors.client import Client
from cactus_actors.protocol.service_status import WorkerStatus
from tests.support.http.batches import COMPLETIONS, begun, texts_of
from tests.support.http.event_reader import EventReader
from tests.support.http.raw_http import connection, post
from tests.support.processes.listening import listening
from tests.support.processes.restartable_service import RestartableService
from tests.support.router.scripted_router import until
from tests.support.text.documents import page

pytestmark = [
    pytest.mark.chaos,
    pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="looks at /proc"),
]

NUM_STREAMS = 8
OPTIONS: dict[str, Any] = {"ignore_eos": True, "temperature": 0.9}
BACK_WITHIN_S = 60.0
FREED_WITHIN_S = 0.25
ANSWERED_WITHIN_S = 30.0
NUM_LEAVING, MAX_ATTEMPTS = 10, 200
WITH_RAY = "After `cactus serve --placement ray`"
SECURITY = page("guide/security.md")


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestartableService]:
    service = RestartableService(tmp_path_factory.mktemp("service"))
    service.start()
    yield service
    service.stop()


@pytest.fixture
def client(service: RestartableService) -> Iterator[Client]:
    with service.client() as client:
        yield client


def body(number: int, max_tokens: int) -> dict[str, Any]:
    prompt = f"Tell me story number {number} about a fox."
    return {"prompt": prompt, "seed": number, "max_tokens": max_tokens, **OPTIONS}


def worker(client: Client) -> WorkerStatus:
    [local] = [worker for worker in client.status().workers if worker.kind == "local"]
    return local


def test_every_listening_port_is_documented(service: RestartableService) -> None:
    assert heard_of(service) == documented(SECURITY.split(WITH_RAY)[0]) != {}


def test_with_ray_every_listening_port_is_documented(tmp_path: Path) -> None:
    service = RestartableService(tmp_path, "--placement", "ray")
    try:
        service.start()
        assert heard_of(service) == documented(SECURITY.split(WITH_RAY)[1]) != {}
    finally:
        service.stop()


def documented(page: str) -> dict[tuple[str, str], int]:
    """The rows of the documented tables: number of ports per process and address."""
    rows = re.findall(r"^\| `([^`]+)` \| (\*|127\.0\.0\.1|the machine's own) \| (\d+) \|", page, re.M)
    return {(name, address): int(count) for name, address, count in rows}


def heard_of(service: RestartableService) -> dict[tuple[str, str], int]:
    """The listening ports per process and address, measured on a running service."""
    found: Counter[tuple[str, str]] = Counter()
    for (name, address), count in listening(service.pids()).items():
        found[name, address if address in ("*", "127.0.0.1") else "the machine's own"] += count
    return dict(found)


def test_a_gateway_killed_with_streams_and_a_batch_restarts_and_they_continue(
    service: RestartableService, client: Client
) -> None:
    bodies = [body(number, 900) for number in range(NUM_STREAMS)]
    lines = [body(number, 60) for number in range(40)]
    with service.http() as http:
        undisturbed = [http.post(COMPLETIONS, json=one).json()["choices"][0]["text"] for one in bodies]
        texts = texts_of(http, begun(http, lines))
        num_before = client.status().jobs.accepted
        batch_id = begun(http, lines)
        kept = http.post("/v1/files", files={"file": ("a", b"{}\n")}, data={"purpose": "batch"}).json()["id"]
    readers = [EventReader(service.url + COMPLETIONS, one, f"stream-{one['seed']}") for one in bodies]
    with ThreadPoolExecutor(NUM_STREAMS) as threads:
        reading = [threads.submit(read_to_the_end, reader) for reader in readers]
        until(lambda: all(reader.text for reader in readers))
        os.kill(service.pid_of("GatewayActor"), signal.SIGKILL)
        killed_at = time.monotonic()
        until(lambda: is_ready(service), BACK_WITHIN_S)
        print(f"back after {time.monotonic() - killed_at:.1f} s")
        for done in reading:
            done.result(60)
    assert [reader.text for reader in readers] == undisturbed
    assert max(reader.num_connections for reader in readers) > 1
    with service.http() as http:
        assert http.get(f"/v1/files/{kept}/content").content == b"{}\n"
        assert texts_of(http, batch_id) == texts
    jobs = client.status().jobs
    # a line that was in flight may have run twice, no other line
    assert NUM_STREAMS + len(lines) <= jobs.accepted - num_before <= NUM_STREAMS + len(lines) + 16
    assert (jobs.failed, jobs.running, jobs.queued) == (0, 0, 0)


def read_to_the_end(reader: EventReader) -> None:
    while not reader.is_done:
        try:
            reader.read()
        except httpx.HTTPError:
            time.sleep(0.1)


def is_ready(service: RestartableService) -> bool:
    try:
        return httpx.get(f"{service.url}/readyz", timeout=30.0).status_code == 200
    except httpx.HTTPError:
        return False


def is_seen_to_run(client: Client, num_finished: int) -> bool:
    """True if the only job was seen before it had finished."""
    while not (jobs := client.status().jobs).running:
        if jobs.finished > num_finished:
            return False
        time.sleep(0.002)
    return True


def leave_http(service: RestartableService, client: Client, *, streamed: bool) -> float | None:
    """The time at which a reading client closed its connection; None if its job was over sooner."""
    num_finished = client.status().jobs.finished
    asked = post(body=httpx.Request("POST", "http://x", json=body(1, 1000) | {"stream": streamed}).content)
    with connection(service.url) as opened:
        opened.sendall(asked)
        if streamed:
            assert opened.recv(4096)
        if not is_seen_to_run(client, num_finished):
            return None
        opened.shutdown(socket.SHUT_RDWR)
        return time.monotonic()


def leave_zeromq(service: RestartableService, client: Client) -> float | None:
    """The time at which a ZeroMQ client cancelled the stream that it read; None if its job was over sooner."""
    num_finished = client.status().jobs.finished
    with service.client() as leaving:
        stream = leaving.stream(body(1, 1000)["prompt"], max_tokens=1000, **OPTIONS)
        next(stream)
        if not is_seen_to_run(client, num_finished):
            return None
        stream.close()
        return time.monotonic()


def test_a_client_that_disconnects_frees_its_slot_and_its_blocks(service: RestartableService, client: Client) -> None:
    idle = worker(client)
    assert idle.free_slots == idle.num_slots
    ways: dict[str, Callable[[], float | None]] = {
        "stream": lambda: leave_http(service, client, streamed=True),
        "whole answer": lambda: leave_http(service, client, streamed=False),
        "ZeroMQ": lambda: leave_zeromq(service, client),
    }
    for name, leave in ways.items():
        seconds: list[float] = []
        for _ in range(MAX_ATTEMPTS):
            num_cancelled = client.status().jobs.cancelled
            left_at = leave()
            until(lambda: is_idle(worker(client), idle))
            freed_at = time.monotonic()
            if left_at is not None and client.status().jobs.cancelled > num_cancelled:
                seconds.append(freed_at - left_at)
            if len(seconds) == NUM_LEAVING:
                break
        assert len(seconds) == NUM_LEAVING
        quartile = statistics.quantiles(seconds, n=4)[0]  # the machine may be busy
        print(f"{name}: a quarter is freed after {quartile:.3f} s, all after {max(seconds):.3f} s")
        assert quartile < FREED_WITHIN_S


def is_idle(now: WorkerStatus, before: WorkerStatus) -> bool:
    return (now.num_running, now.free_slots, now.free_blocks) == (0, before.num_slots, before.num_blocks)


def test_replacing_all_workers_fails_no_request(service: RestartableService, client: Client) -> None:
    with service.http() as http, ThreadPoolExecutor(4) as threads:
        before = worker(client).worker_id
        client.restart_workers()
        statuses: list[int] = []
        while before in worker_ids(client):
            answers = threads.map(lambda number: http.post(COMPLETIONS, json=body(number, 20)), range(4))
            statuses += [answer.status_code for answer in answers]
        print(f"{len(statuses)} requests while the worker was replaced")
        assert set(statuses) == {200}
    assert client.status().jobs.failed == 0


def worker_ids(client: Client) -> set[str]:
    return {worker.worker_id for worker in client.status().workers if worker.kind == "local"}


def test_every_request_is_answered_while_there_is_no_router(service: RestartableService) -> None:
    bodies = [body(number, 20) for number in range(NUM_STREAMS)]
    with service.http() as http, ThreadPoolExecutor(NUM_STREAMS) as threads:
        undisturbed = [http.post(COMPLETIONS, json=one).json()["choices"][0]["text"] for one in bodies]
        os.kill(service.pid_of("RouterActor"), signal.SIGKILL)
        started = time.monotonic()
        answers = list(threads.map(lambda one: http.post(COMPLETIONS, json=one), bodies))
        assert time.monotonic() - started < ANSWERED_WITHIN_S
        for answer, text in zip(answers, undisturbed, strict=True):
            if answer.status_code == 200:
                assert answer.json()["choices"][0]["text"] == text
            else:
                error = answer.json()["error"]
                assert (answer.status_code, error["type"]) == (503, "unavailable_error")
                assert int(answer.headers["retry-after"]) >= 1
        assert http.get("/healthz").status_code == 200
        until(lambda: is_ready(service), BACK_WITHIN_S)
        assert http.post(COMPLETIONS, json=bodies[0]).json()["choices"][0]["text"] == undisturbed[0]

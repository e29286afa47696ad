"""The edge process, which has the sockets of clients: its end costs clients one reconnection and nothing else."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import math
import os
import signal
import socket
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
import pytest
import zmq

from cactus_actors.client import AsyncClient, Timeouts
from cactus_actors.protocol.messages import Accepted, Fetch, Finished, Replay, Resume, StatusRequest
from cactus_actors.protocol.wire import encode, router_reply_decoder
from cactus_actors.protocol.worker_messages import Dispatch, Finish, Report, ReportsTaken
from cactus_actors.router.auth.accepted_keys import RECHECK_S
from cactus_actors.router.auth.unfinished_messages import MAX_GROWTH_BYTES
from cactus_actors.router.edge.edge_messages import SocketsBound
from cactus_actors.router.edge.edge_process import EdgeLimits, EdgeProcess
from cactus_actors.router.edge.edge_server import MAX_REQUESTS_AHEAD
from tests.support.processes import process_usage
from tests.support.processes.process_usage import MIB, MemoryGrowth, resident_bytes
from tests.support.router.core_harness import job_id
from tests.support.router.echo_worker import EchoWorker
from tests.support.router.raw_peer import COMMAND, MORE, RawPeer, frame
from tests.support.router.running_router import Peer, Service, serving
from tests.support.router.scripted_router import until
from tests.support.router.secured_router import Generation, secured_router, submit
from tests.support.router.worker_messages import make_delta, make_hello

pytestmark = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="looks at /proc")

PING = frame(b"\x04PING\x00\x0a", COMMAND)
STATUS = b"".join((frame(b"\x01m", MORE), frame(encode(StatusRequest())[1])))
SUBSCRIBE = frame(b"\1" + bytes(32))
NUM_TOKENS = 1500
MAX_AHEAD = 32
LONG_TEXT = "a long token " * 1000


def edge_pid() -> int | None:
    """The edge process of the router in this process, while there is one."""
    with contextlib.suppress(AssertionError):
        return process_usage.edge_of(os.getpid())
    return None


def running_edge() -> int:
    """The pid of the edge process, once it exists."""
    until(lambda: edge_pid() is not None)
    pid = edge_pid()
    assert pid is not None
    return pid


def is_another(before: int) -> bool:
    return edge_pid() not in (None, before)


def is_listening(service: Service) -> bool:
    parts = urlsplit(service.endpoints.jobs)
    try:
        socket.create_connection((parts.hostname, parts.port or 0)).close()
    except OSError:
        return False
    return True


@pytest.fixture
def service() -> Iterator[Service]:
    with serving() as service:
        yield service


def kill(service: Service) -> None:
    os.kill(running_edge(), signal.SIGKILL)


def reset_while_pinging(service: Service, kind: str) -> None:
    """Send what no library sends, and what libzmq 4.3.5 asserts against (its issue 4364)."""
    endpoint, message = (service.endpoints.jobs, STATUS) if kind == "DEALER" else (service.endpoints.stream, SUBSCRIBE)
    before = running_edge()
    deadline = time.monotonic() + 60.0
    while not is_another(before):
        assert time.monotonic() < deadline, "nothing came of it"
        try:
            peer = RawPeer(endpoint, kind)
        except OSError:
            continue
        peer.send((message * 10 + PING) * 30)
        peer.reset()
        time.sleep(0.05)


ENDS: dict[str, Callable[[Service], None]] = {
    "kill -9": kill,
    "PING and RST at the jobs socket": lambda service: reset_while_pinging(service, "DEALER"),
    "PING and RST at the stream socket": lambda service: reset_while_pinging(service, "SUB"),
}


@pytest.mark.parametrize("name", ENDS)
async def test_a_stream_continues_without_gap_or_repeat_after_the_end_of_the_edge(service: Service, name: str) -> None:
    endpoints = service.endpoints
    with EchoWorker(endpoints.workers, step_s=0.001):
        async with AsyncClient(endpoints.jobs, endpoints.stream, timeout=60.0) as client:
            before = await client.status(with_totals=True)
            stream = client.stream("abc", max_tokens=NUM_TOKENS)
            indices, text = [], ""
            async for delta in stream:
                if not indices:
                    await asyncio.to_thread(ENDS[name], service)
                indices += range(delta.index, delta.index + len(delta.token_ids))
                text += delta.text
            result = await stream.result()
            after = await client.status(with_totals=True)
    assert indices == list(range(NUM_TOKENS))
    assert text == result.text
    assert (result.attempts, after.jobs.redispatched, after.epoch) == (1, 0, before.epoch)
    assert before.totals is not None
    assert after.totals is not None
    assert after.totals.lost_edges > before.totals.lost_edges


async def test_jobs_end_once_although_the_edge_is_killed_repeatedly(service: Service) -> None:
    endpoints = service.endpoints
    is_over = threading.Event()

    def end_it_again_and_again() -> None:
        for _ in range(8):
            if is_over.wait(1.0):
                return
            kill(service)
            until(lambda: is_listening(service))

    killer = threading.Thread(target=end_it_again_and_again)
    killer.start()
    try:
        with EchoWorker(endpoints.workers, step_s=0.001, num_slots=8):
            async with AsyncClient(endpoints.jobs, endpoints.stream, timeout=60.0) as client:
                jobs = [client.complete(f"job {number}", max_tokens=400) for number in range(20)]
                results = await asyncio.gather(*jobs)
                is_over.set()
                killer.join()
                counts = (await client.status()).jobs
    finally:
        is_over.set()
        killer.join()
    assert [result.attempts for result in results] == [1] * 20
    assert all(f"job {number}" in results[number].text for number in range(20))
    assert (counts.queued, counts.running, counts.failed) == (0, 0, 0)


def test_connections_with_unfinished_messages_are_closed_and_their_memory_freed(service: Service) -> None:
    pid = running_edge()
    watch = MemoryGrowth(pid)
    before = service.status().refused.get("unfinished", 0)
    contents = (frame(b"", MORE) * 4_000_000, frame(bytes(60_000), MORE) * 10_000)
    for number, content in enumerate(contents, 1):
        peer = RawPeer(service.endpoints.jobs, "DEALER")
        sending = threading.Thread(target=peer.send, args=(content,))
        sending.start()
        give_up_at = time.monotonic() + 60.0
        while service.status().refused.get("unfinished", 0) < before + number:
            assert time.monotonic() < give_up_at
            watch.look_for(0.1)
        until(lambda: watch.look() < 16 * MIB)
        with contextlib.suppress(OSError):
            peer.socket.shutdown(socket.SHUT_RDWR)  # wakes the sender
        sending.join(60)
        peer.close()
    assert running_edge() == pid
    assert MAX_GROWTH_BYTES <= watch.most < MAX_GROWTH_BYTES + 200 * MIB
    assert service.status().refused["unfinished"] == before + 2


def test_a_client_that_does_not_read_replies_takes_bounded_memory(service: Service) -> None:
    """The client is cut for its use of memory, or by TCP after three seconds."""
    pid = running_edge()
    client, worker = service.client(), service.worker()
    client.send(submit(1))
    Generation(worker).say("x" * 100_000, Finish("stop"))
    client.receive(Finished)
    worker.socket.close()
    watch = MemoryGrowth(pid)
    peer = RawPeer(service.endpoints.jobs, "DEALER", receive_buffer=4096)
    header, payload = encode(Fetch(job_id=job_id(1)))
    peer.send((frame(header, MORE) + frame(payload)) * 2000)
    until(lambda: watch.look() > 16 * MIB)
    until(lambda: watch.look() < 16 * MIB)
    peer.close()
    assert running_edge() == pid
    assert watch.most < MAX_GROWTH_BYTES + 100 * MIB


def test_the_edge_is_small_and_imports_no_more_than_it_needs(service: Service) -> None:
    assert resident_bytes(running_edge()) < 40 * MIB
    program = "import cactus_actors.router.edge.edge_child, sys; print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert {"zmq", "msgspec"} <= {*modules}
    heavy = {"asyncio", "numba", "numpy", "ray", "tokenizers", "jinja2", "cactus_actors.router.core"}
    assert heavy & {*modules} == set()


def test_a_stopped_edge_is_replaced() -> None:
    with serving(edge_limits=EdgeLimits(quiet_s=1.5, silent_s=2.0)) as service:
        stopped = running_edge()
        os.kill(stopped, signal.SIGSTOP)
        until(lambda: is_another(stopped))
        assert service.status().jobs.accepted == 0


def num_bytes_to_receive(edge: EdgeProcess) -> int:
    return int.from_bytes(fcntl.ioctl(edge.fileno(), termios.FIONREAD, bytes(4)), sys.byteorder)


def test_requests_that_come_before_the_router_knows_that_its_edge_listens_are_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As many as an edge process passes on before one is handled: if they were lost, it would read no more."""
    jobs = [submit(number, "x" * 100) for number in range(2 * MAX_REQUESTS_AHEAD)]
    num_bytes = MAX_REQUESTS_AHEAD * len(encode(jobs[0])[1])
    listening = EdgeProcess.listening

    def listening_late(edge: EdgeProcess) -> SocketsBound:
        until(lambda: num_bytes_to_receive(edge) >= num_bytes)
        return listening(edge)

    with zmq.Context() as context:
        with serving() as before:
            endpoint = before.endpoints.jobs
            client = Peer(context, endpoint, router_reply_decoder())
            client.send(StatusRequest())
            client.receive()
        for job in jobs:
            client.send(job)
        monkeypatch.setattr(EdgeProcess, "listening", listening_late)
        with client.socket, serving(jobs_endpoint=endpoint) as service:
            accepted = {client.receive(Accepted).job_id for _ in jobs}
            assert service.status().jobs.accepted == len(jobs)
    assert accepted == {job.job_id for job in jobs}


async def test_a_result_that_ended_without_an_edge_is_requested_at_once(service: Service) -> None:
    timeouts = Timeouts(first_reply_s=60.0, result_silence_s=1000.0)  # while the loop waits it never arrives
    async with AsyncClient(service.endpoints.jobs, service.endpoints.stream, timeouts=timeouts) as client:
        known = await client.submit("abc", max_tokens=10)
        result = asyncio.create_task(client.result(known))
        worker = service.worker(make_hello())
        dispatch = await asyncio.to_thread(worker.receive, Dispatch)
        before = running_edge()
        os.kill(before, signal.SIGSTOP)  # nothing is sent any more
        finish = Finish("stop")
        worker.send(Report(1, 1, 64, 0, [make_delta(dispatch.dispatch_id, 0, "so", token_ids=[1], finish=finish)]))
        await asyncio.to_thread(until, lambda: service.actor.health().num_unfinished == 0)
        os.kill(before, signal.SIGKILL)
        assert (await result).text == "so"
        assert is_another(before)


class AvidWorker:
    """Generates one long token after the other in its one job, as far ahead as it may."""

    def __init__(self, service: Service) -> None:
        hello = msgspec.structs.replace(make_hello(), max_reports_ahead=MAX_AHEAD)
        self._peer = service.worker(hello)
        self._dispatch_id = self._peer.receive(Dispatch).dispatch_id
        self.num_sent, self._may_send = 0, MAX_AHEAD

    def say(self) -> bool:
        """Report a token, if the router allows it."""
        while self._peer.socket.poll(0):
            command = self._peer.receive()
            if isinstance(command, ReportsTaken):
                self._may_send = command.num_reports + command.max_ahead
        if self.num_sent >= self._may_send:
            return False
        delta = make_delta(self._dispatch_id, self.num_sent, LONG_TEXT, token_ids=[1])
        self._peer.send(Report(1, 1, 64, 1, [delta]))
        self.num_sent += 1
        return True

    def say_for(self, seconds: float) -> int:
        """Report for this time; returns the number of sent tokens."""
        before, until = self.num_sent, time.monotonic() + seconds
        while time.monotonic() < until:
            if not self.say():
                time.sleep(0.002)
        return self.num_sent - before


def test_a_worker_waits_for_a_slow_edge_and_not_for_a_stuck_one() -> None:
    limits = EdgeLimits(stalled_s=math.inf, silent_s=math.inf)
    with serving(edge_limits=limits) as service:
        client = service.client()
        subscriber = service.subscriber(job_id(1))
        until(lambda: job_id(1) in service.actor.core.state.topics)
        client.send(submit(1, max_tokens=100_000))
        worker = AvidWorker(service)
        until(lambda: worker.say_for(0.1) > 0 and worker.num_sent > MAX_AHEAD)
        os.kill(running_edge(), signal.SIGSTOP)
        until(lambda: worker.say_for(0.3) == 0)  # the buffers between the two are full
        waiting = worker.num_sent
        assert waiting * len(LONG_TEXT) < 64 * MIB
        limits.stalled_s = 0.5
        until(lambda: worker.say_for(0.1) > 0)  # the edge reads nothing for this time: the worker does not wait for it
        os.kill(running_edge(), signal.SIGCONT)
        client.receive(Accepted)
        client.send(Resume(job_id=job_id(1), next_index=waiting, credit=1))
        [delta] = client.receive(Replay).deltas
        assert (delta.index, delta.text) == (waiting, LONG_TEXT)
        assert subscriber.receive()


def test_permissions_hold_after_the_edge_process_restarts(tmp_path: Path) -> None:
    with secured_router(tmp_path) as router:
        alice_key, bob_key = router.key("alice"), router.key("bob")
        worker, alice = router.worker(router.key("w", "worker")), router.client(alice_key)
        assert isinstance(alice.ask(submit(1)), Accepted)
        generation = Generation(worker)
        listener, nosy = router.subscriber(alice_key, job_id(1)), router.subscriber(bob_key, job_id(1))
        generation.reach(listener)
        until(lambda: router.refused().get("foreign_topic") == 1)
        before = running_edge()
        os.kill(before, signal.SIGKILL)
        until(lambda: is_another(before))
        generation.reach(listener)
        # ZeroMQ subscribes again when a monitor inspects the socket.
        until(lambda: nosy.is_silent() and router.refused().get("foreign_topic", 0) >= 2)
        generation.say("the end", Finish("stop"))
        assert listener.receive(Finished).result.text.endswith("the end")
        assert nosy.is_silent()
        router.store.revoke("alice")
        time.sleep(2 * RECHECK_S)
        again = router.client(alice_key)
        again.send(Fetch(job_id=job_id(1)))
        assert again.is_silent()

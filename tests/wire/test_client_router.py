"""The clients and the real router together; the test plays the worker."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Self

import pytest
import zmq

from cactus_actors import Client, JobNotFound
from cactus_actors.keys.key_file import Credentials
from cactus_actors.protocol.wire import encode, router_command_decoder
from cactus_actors.protocol.worker_messages import Abort, Dispatch, Finish, Report, SequenceDelta, Welcome
from tests.support.router.core_harness import make_delta, make_hello
from tests.support.router.scripted_router import until

NUM_SLOTS = 4


class EchoWorker:
    """Says the prompt's letters again and again, one a step: token ids that are known in advance.

    The last one of each job waits for `may_end`, where there is one.
    """

    def __init__(
        self,
        endpoint: str,
        *,
        step_s: float,
        credentials: Credentials | None = None,
        num_slots: int = NUM_SLOTS,
        may_end: threading.Event | None = None,
    ) -> None:
        self._endpoint = endpoint
        self._num_slots = num_slots
        self._may_end = may_end
        self._credentials = credentials
        self._step_s = step_s
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(10)

    def _run(self) -> None:
        num_blocks = 16 * self._num_slots
        hello = make_hello("echo", num_slots=self._num_slots, num_blocks=num_blocks)
        decoder = router_command_decoder()
        running: dict[int, tuple[Dispatch, int]] = {}  # dispatch id -> dispatch, next position
        num_accepted, epoch = 0, None
        with zmq.Context() as context, context.socket(zmq.DEALER) as socket:
            socket.linger = 0
            if self._credentials is not None:
                self._credentials.secure(socket)
            socket.connect(self._endpoint)
            socket.send_multipart(encode(hello))
            while not self._stop.wait(self._step_s):
                while socket.poll(0):
                    match decoder.decode(socket.recv_multipart()):
                        case Welcome() as welcome:
                            running.clear()
                            num_accepted = 0
                            if epoch not in (None, welcome.epoch):
                                socket.send_multipart(encode(hello))
                            epoch = welcome.epoch
                        case Dispatch() as dispatch:
                            num_accepted += 1
                            running[dispatch.dispatch_id] = (dispatch, len(dispatch.emitted_ids))
                        case Abort(dispatch_id):
                            running.pop(dispatch_id, None)
                steps = [self._step(running, dispatch_id) for dispatch_id in [*running]]
                deltas = [delta for delta in steps if delta is not None]
                free_slots = self._num_slots - len(running)
                report = Report(num_accepted, free_slots, num_blocks, len(running), deltas)
                if socket.poll(0, zmq.POLLOUT):
                    socket.send_multipart(encode(report))

    def _step(self, running: dict[int, tuple[Dispatch, int]], dispatch_id: int) -> SequenceDelta | None:
        dispatch, position = running[dispatch_id]
        token_id = dispatch.prompt_ids[position % len(dispatch.prompt_ids)]
        is_last = position + 1 >= dispatch.params.max_tokens
        if is_last and self._may_end is not None and not self._may_end.is_set():
            return None
        running[dispatch_id] = (dispatch, position + 1)
        if is_last:
            del running[dispatch_id]
        finish = Finish("length") if is_last else None
        return make_delta(dispatch_id, position, chr(token_id), finish=finish)


ROUTER = """
import sys
from cactus_actors.config import RouterSettings
from cactus_actors.router.actor import RouterActor
from tests.support.router.core_harness import LetterModel
names = ("jobs_endpoint", "stream_endpoint", "workers_endpoint")
actor = RouterActor(RouterSettings(**dict(zip(names, sys.argv[1:]))), LetterModel())
endpoints = actor.start()
print(endpoints.jobs, endpoints.stream, endpoints.workers, flush=True)
actor.run()
"""


class Service:
    """A router in a process of its own, which can be killed and started again, and one worker."""

    def __init__(self) -> None:
        self._endpoints = ["tcp://127.0.0.1:*"] * 3
        self.start_router()
        self._worker = EchoWorker(self._endpoints[2], step_s=0.01)
        self._worker.__enter__()

    def start_router(self) -> None:
        self._router = subprocess.Popen(
            [sys.executable, "-c", ROUTER, *self._endpoints], stdout=subprocess.PIPE, text=True
        )
        assert self._router.stdout is not None
        self._endpoints = self._router.stdout.readline().split()
        assert len(self._endpoints) == 3

    def kill_router(self) -> None:
        self._router.kill()
        self._router.communicate()

    def stop(self) -> None:
        self._worker.__exit__()
        self.kill_router()

    def client(self) -> Client:
        jobs, stream, _ = self._endpoints
        return Client(jobs, stream, timeout=30)


@pytest.fixture
def service() -> Iterator[Service]:
    service = Service()
    yield service
    service.stop()


def test_stream_and_result_are_the_same(service: Service) -> None:
    with service.client() as client:
        stream = client.stream("abc", max_tokens=30)
        deltas = list(stream)
        assert "".join(delta.text for delta in deltas) == stream.result().text
        assert [token for delta in deltas for token in delta.token_ids] == stream.result().token_ids
        assert len(stream.result().token_ids) == 30
        assert client.complete("abc", max_tokens=30, seed=1).text == stream.result().text


def test_more_jobs_than_slots(service: Service) -> None:
    with service.client() as client:
        ids = [client.submit(f"job {number}", max_tokens=5) for number in range(20)]
        assert len({client.result(job_id, timeout=60).text for job_id in ids}) == 1  # "\1job " begins each
        jobs = client.status().jobs
        assert (jobs.accepted, jobs.finished) == (20, 20)


def test_another_client_reads_the_result(service: Service) -> None:
    with service.client() as client, service.client() as other:
        job_id = client.submit("abc", max_tokens=50)
        assert other.result(job_id, timeout=60) == client.result(job_id, timeout=60)
        with pytest.raises(JobNotFound):
            other.result("0" * 32)


def test_closing_a_stream_cancels_the_job_in_the_router(service: Service) -> None:
    with service.client() as client:
        with client.stream("abc", max_tokens=4000) as stream:
            next(stream)
        until(lambda: client.status().jobs.cancelled == 1)


def test_cancel(service: Service) -> None:
    with service.client() as client:
        job_id = client.submit("abc", max_tokens=4000)
        assert client.cancel(job_id) == "cancelled"
        assert client.result(job_id, timeout=60).finish_reason == "cancelled"


def test_the_same_submit_again_is_the_same_job(service: Service) -> None:
    with service.client() as client, service.client() as other:
        job_id = "ab" * 16
        first = client.complete("abc", job_id=job_id, max_tokens=4)
        assert other.complete("abc", job_id=job_id, max_tokens=4) == first
        assert client.status().jobs.accepted == 1


def test_a_stream_and_results_go_on_over_kills_of_the_router(service: Service) -> None:
    with service.client() as client:
        stream = client.stream("abc", max_tokens=60)
        waiting = client.submit("abc", max_tokens=60)
        deltas = []
        for delta in stream:
            deltas.append(delta)
            if len(deltas) in (5, 20):
                service.kill_router()
                service.start_router()
        indices = [delta.index + place for delta in deltas for place in range(len(delta.token_ids))]
        assert indices == [*range(60)]
        assert "".join(delta.text for delta in deltas) == stream.result().text
        assert client.result(waiting, timeout=30).text == stream.result().text

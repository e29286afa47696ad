"""A fake router with a real socket, and one worker with a random model on a thread."""

from __future__ import annotations

import contextlib
import threading
import time

import zmq

from cactus_actors.config import WorkerSettings
from cactus_actors.protocol.errors import CactusError
from cactus_actors.protocol.wire import encode, worker_message_decoder
from cactus_actors.protocol.worker_messages import (
    Hello,
    Report,
    ReportsTaken,
    RouterCommand,
    SequenceDelta,
    Welcome,
    WorkerMessage,
)
from cactus_actors.workers.actor import MAX_REPORTS_AHEAD, LoadedEngine, WorkerActor
from cactus_actors.workers.engine.engine import Engine
from cactus_actors.workers.engine.options import EngineLimits, TextOptions
from cactus_actors.workers.loading.load_model import random_model
from cactus_actors.workers.loading.progress import LoadingProgress

SPEC = "llama:hidden=56,ffn=100,layers=2,heads=4,kv_heads=2,head_dim=16,vocab=199,context=8192"
DEADLINE_S = 600.0


class LetterTokenizer:
    def token_bytes(self, token_id: int) -> bytes:
        return bytes([97 + token_id % 26])


def load_random(settings: WorkerSettings, _: LoadingProgress) -> LoadedEngine:
    model = random_model(SPEC, weights="float32", threads=settings.threads, seed=1)
    engine = Engine(
        model,
        TextOptions(LetterTokenizer(), []),
        EngineLimits(
            cache_blocks=settings.cache_tokens // settings.block_size, max_sequences=settings.max_sequences or 2
        ),
    )
    return LoadedEngine(engine, model)


class FakeRouter:
    """A ROUTER socket that the test controls, and one worker on a thread."""

    def __init__(self) -> None:
        self._context = zmq.Context()
        self._decoder = worker_message_decoder()
        self._socket = self._bound_socket("tcp://127.0.0.1:*")
        self.endpoint = self._socket.getsockopt_string(zmq.LAST_ENDPOINT)
        self.identity = b""
        self.reports: list[Report] = []
        self.num_reports = 0
        self.takes_reports = True
        settings = WorkerSettings(worker_id="w", model="random", max_sequences=2, cache_tokens=4096)
        self.actor = WorkerActor(settings, load_random)
        self.left_because: str | None = None
        self.error: CactusError | None = None
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _bound_socket(self, endpoint: str) -> zmq.Socket[bytes]:
        router = self._context.socket(zmq.ROUTER)
        router.setsockopt(zmq.LINGER, 0)
        router.setsockopt(zmq.ROUTER_MANDATORY, 1)
        deadline = time.monotonic() + DEADLINE_S
        while True:
            try:
                router.bind(endpoint)
                return router
            except zmq.ZMQError:  # a closed socket's port is released in the background
                assert time.monotonic() < deadline
                router.poll(10)

    def restart(self) -> None:
        """Lose all state and listen on the same port again, like a killed router."""
        self._socket.close()
        self._socket = self._bound_socket(self.endpoint)

    def _run(self) -> None:
        try:
            self.left_because = self.actor.run(self.endpoint)
        except CactusError as error:
            self.error = error

    def send(self, *commands: RouterCommand) -> None:
        for command in commands:
            if isinstance(command, Welcome):
                self.num_reports = 0
            self._socket.send_multipart([self.identity, *encode(command)])

    def send_frames(self, *frames: bytes) -> None:
        self._socket.send_multipart([self.identity, *frames])

    def receive(self, timeout_s: float = DEADLINE_S) -> WorkerMessage:
        assert self._socket.poll(int(timeout_s * 1000)), "the worker says nothing"
        self.identity, *frames = self._socket.recv_multipart()
        message = self._decoder.decode(frames)
        if isinstance(message, Report):
            self.reports.append(message)
            self.num_reports += 1
            if self.takes_reports:
                with contextlib.suppress(zmq.ZMQError):  # it has left
                    self.send(ReportsTaken(self.num_reports, MAX_REPORTS_AHEAD))
        return message

    def receive_until(self, kind: type, timeout_s: float = DEADLINE_S) -> WorkerMessage:
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            message = self.receive()
            if isinstance(message, kind):
                return message
        raise AssertionError(f"no {kind.__name__} came")

    def greet(self, epoch: int = 1) -> Hello:
        hello = self.receive_until(Hello)
        self.send(Welcome(epoch))
        assert isinstance(hello, Hello)
        return hello

    def deltas_of(self, dispatch_id: int) -> list[SequenceDelta]:
        """All deltas of a dispatch, received until its finish."""
        seen = 0
        deltas: list[SequenceDelta] = []
        deadline = time.monotonic() + DEADLINE_S
        while not deltas or deltas[-1].finish is None:
            assert time.monotonic() < deadline, "the dispatch does not end"
            if seen == len(self.reports):
                self.receive()
            for report in self.reports[seen:]:
                deltas += [delta for delta in report.deltas if delta.dispatch_id == dispatch_id]
            seen = len(self.reports)
        return deltas

    def next_report(self) -> Report:
        report = self.receive_until(Report)
        assert isinstance(report, Report)
        return report

    def settled_report(self) -> Report:
        """The first report of a worker without work."""
        deadline = time.monotonic() + DEADLINE_S
        while time.monotonic() < deadline:
            report = self.next_report()
            if report.num_running == 0:
                return report
        raise AssertionError("the worker does not become idle")

    def close(self) -> None:
        self.actor.stop()
        self.thread.join(DEADLINE_S)
        assert not self.thread.is_alive()
        self._socket.close()
        self._context.term()

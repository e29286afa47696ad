"""A router actor in a thread, and peers of it on real sockets."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import zmq

from cactus_actors.config import RouterSettings
from cactus_actors.process.health import Endpoints
from cactus_actors.protocol.messages import Status, StatusRequest, Submit
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.wire import (
    MSGPACK,
    Encoding,
    encode,
    router_command_decoder,
    router_reply_decoder,
    stream_message_decoder,
)
from cactus_actors.protocol.worker_messages import Hello, Welcome
from cactus_actors.router.actor import Observer, RouterActor
from cactus_actors.router.edge.edge_process import EdgeLimits
from cactus_actors.router.preparation.prompt_model import PromptModel
from tests.support.router.core_harness import job_id
from tests.support.router.letter_model import LetterModel
from tests.support.router.standing_objects import exempt_standing_objects
from tests.support.router.worker_messages import make_hello

PATIENCE_MS = 60_000
LOOPBACK = {
    "jobs_endpoint": "tcp://127.0.0.1:*",
    "stream_endpoint": "tcp://127.0.0.1:*",
    "workers_endpoint": "tcp://127.0.0.1:*",
}


class Peer:
    """One DEALER; it decodes its messages, and fails the test after a timeout."""

    def __init__(self, context: zmq.Context[Any], endpoint: str, decoder: Any) -> None:
        self.socket = context.socket(zmq.DEALER)
        self.socket.linger = 0
        self.socket.connect(endpoint)
        self._decoder = decoder

    def send(self, message: Any, encoding: Encoding = MSGPACK) -> None:
        self.socket.send_multipart(encode(message, encoding))

    def send_frames(self, *frames: bytes) -> None:
        self.socket.send_multipart(frames)

    def receive_frames(self) -> list[bytes]:
        assert self.socket.poll(PATIENCE_MS), "nothing came"
        frames: list[bytes] = self.socket.recv_multipart()
        return frames

    def receive(self, kind: type | None = None) -> Any:
        """The next message, or the next one of that type."""
        while True:
            message = self._decoder.decode(self.receive_frames())
            if kind is None or isinstance(message, kind):
                return message

    def is_silent(self, milliseconds: int = 100) -> bool:
        return not self.socket.poll(milliseconds)


class Subscriber:
    """One SUB that is subscribed to a job."""

    def __init__(self, context: zmq.Context[Any], endpoint: str, *topics: str) -> None:
        self.socket = context.socket(zmq.SUB)
        self.socket.linger = 0
        self.socket.connect(endpoint)
        for topic in topics:
            self.socket.subscribe(topic)
        self._decoder = stream_message_decoder()

    def receive_frames(self) -> list[bytes]:
        assert self.socket.poll(PATIENCE_MS), "nothing was published"
        frames: list[bytes] = self.socket.recv_multipart()
        return frames

    def receive(self) -> Any:
        return self._decoder.decode(self.receive_frames()[1:])


class Service:
    """A running router and the peers of a test."""

    def __init__(self, endpoints: Endpoints, actor: RouterActor) -> None:
        self.endpoints = endpoints
        self.actor = actor
        self._context: zmq.Context[Any] = zmq.Context()
        self._sockets: list[zmq.Socket[Any]] = []

    def close(self) -> None:
        for socket in self._sockets:
            socket.close()
        self._context.term()

    def client(self) -> Peer:
        return self._peer(self.endpoints.jobs, router_reply_decoder())

    def stranger(self) -> Peer:
        """A worker that has not sent Hello."""
        return self._peer(self.endpoints.workers, router_command_decoder())

    def subscriber(self, *topics: str) -> Subscriber:
        subscriber = Subscriber(self._context, self.endpoints.stream, *topics)
        self._sockets.append(subscriber.socket)
        return subscriber

    def _peer(self, endpoint: str, decoder: Any) -> Peer:
        peer = Peer(self._context, endpoint, decoder)
        self._sockets.append(peer.socket)
        return peer

    def worker(self, hello: Hello | None = None) -> Peer:
        worker = self.stranger()
        worker.send(hello or make_hello())
        assert isinstance(worker.receive(), Welcome)
        return worker

    def status(self) -> Status:
        client = self.client()
        client.send(StatusRequest(request_id="r"))
        status = client.receive()
        client.socket.close()
        assert isinstance(status, Status)
        return status


@contextmanager
def serving(
    text_model: PromptModel | None = None,
    observers: Sequence[Observer] = (),
    edge_limits: EdgeLimits | None = None,
    **settings: Any,
) -> Iterator[Service]:
    actor = RouterActor(RouterSettings(**{**LOOPBACK, **settings}), text_model or LetterModel(), observers, edge_limits)
    exempt_standing_objects()
    service = Service(actor.start(), actor)
    ended: list[str] = []
    thread = threading.Thread(target=lambda: ended.append(actor.run()))
    thread.start()
    try:
        yield service
    finally:
        service.close()
        actor.stop()
        thread.join(60)
    assert ended == ["stopped"]


def submit(number: int, prompt: Any = "hi", **options: Any) -> Submit:
    return Submit(job_id=job_id(number), prompt=prompt, options=Options(seed=3, **options))

"""A router that requires keys, and peers that authenticate."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import zmq

from cactus_actors.config import RouterSettings
from cactus_actors.keys.key_file import Credentials, Role, read_key_file
from cactus_actors.keys.key_store import KeyStore
from cactus_actors.process.health import Endpoints
from cactus_actors.protocol.key_grants import DEFAULT_GRANTS, KeyGrants
from cactus_actors.protocol.messages import Progress, Status, StatusRequest, Submit
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.wire import encode, router_command_decoder, router_reply_decoder, stream_message_decoder
from cactus_actors.protocol.worker_messages import Dispatch, Finish, Hello, Report, SequenceDelta, Welcome
from cactus_actors.router.actor import RouterActor
from tests.support.router.core_harness import job_id
from tests.support.router.letter_model import LetterModel
from tests.support.router.running_router import LOOPBACK, PATIENCE_MS
from tests.support.router.standing_objects import exempt_standing_objects
from tests.support.router.worker_messages import make_delta, make_hello


class Peer:
    """One DEALER or SUB; a timeout fails the test."""

    def __init__(self, socket: zmq.Socket[Any], decoder: Any) -> None:
        self.socket = socket
        self._decoder = decoder

    def send(self, message: Any) -> None:
        self.socket.send_multipart(encode(message))

    def receive(self, kind: type | None = None) -> Any:
        """The next message, or the next one of that type."""
        while True:
            if not self.socket.poll(PATIENCE_MS):  # assertions of this module are removed together with the program's
                raise AssertionError("nothing came")
            message = self._decoder.decode(self.socket.recv_multipart()[-2:])
            if kind is None or isinstance(message, kind):
                return message

    def ask(self, message: Any) -> Any:
        self.send(message)
        return self.receive()

    def is_silent(self, milliseconds: int = 150) -> bool:
        return not self.socket.poll(milliseconds)


class SecuredRouter:
    """A running router, its key store, and the sockets of a test."""

    def __init__(self, store: KeyStore, actor: RouterActor, endpoints: Endpoints) -> None:
        self.store = store
        self.actor = actor
        self.endpoints = endpoints
        self._context: zmq.Context[Any] = zmq.Context()
        self._sockets: list[zmq.Socket[Any]] = []

    def key(
        self, name: str, role: Role = "client", tenant: str | None = None, grants: KeyGrants = DEFAULT_GRANTS
    ) -> Credentials:
        """A new key that is registered at the router."""
        return read_key_file(self.store.add(name, role, tenant, grants=grants))

    def key_file(self, name: str, role: Role = "client", tenant: str | None = None) -> Path:
        return self.store.add(name, role, tenant)

    def client(self, credentials: Credentials | None) -> Peer:
        return self._peer(zmq.DEALER, self.endpoints.jobs, credentials, router_reply_decoder())

    def worker(self, credentials: Credentials | None, hello: Hello | None = None) -> Peer:
        """A worker that the router has welcomed."""
        worker = self.stranger(credentials)
        worker.send(hello or make_hello())
        worker.receive(Welcome)
        return worker

    def stranger(self, credentials: Credentials | None) -> Peer:
        """A peer of the workers' socket that has sent nothing yet."""
        return self._peer(zmq.DEALER, self.endpoints.workers, credentials, router_command_decoder())

    def subscriber(self, credentials: Credentials | None, *topics: str) -> Peer:
        subscriber = self._peer(zmq.SUB, self.endpoints.stream, credentials, stream_message_decoder())
        for topic in topics:
            subscriber.socket.subscribe(topic)
        return subscriber

    def close_peer(self, peer: Peer) -> None:
        peer.socket.close()

    def status(self) -> Status:
        """The status, as an operator receives it."""
        name = f"watcher-{time.monotonic_ns()}"
        watcher = self.client(self.key(name, "operator"))
        status = watcher.ask(StatusRequest(request_id="r"))
        watcher.socket.close()
        self.store.revoke(name)
        assert isinstance(status, Status)
        return status

    def refused(self) -> dict[str, int]:
        return self.status().refused

    def close(self) -> None:
        for socket in self._sockets:
            socket.close()
        self._context.term()

    def _peer(self, kind: int, endpoint: str, credentials: Credentials | None, decoder: Any) -> Peer:
        socket = self._context.socket(kind)
        socket.linger = 0
        if credentials is not None:
            credentials.secure(socket)
        socket.connect(endpoint)
        self._sockets.append(socket)
        return Peer(socket, decoder)


@contextmanager
def secured_router(directory: Path, **settings: Any) -> Iterator[SecuredRouter]:
    """Run a router whose keys are in `directory`."""
    store = KeyStore(directory / "keys")
    store.make_server_pair()
    actor = RouterActor(RouterSettings(**{**LOOPBACK, "keys_dir": str(store.directory), **settings}), LetterModel())
    exempt_standing_objects()
    router = SecuredRouter(store, actor, actor.start())
    thread = threading.Thread(target=actor.run)
    thread.start()
    try:
        yield router
    finally:
        router.close()
        actor.stop()
        thread.join(60)
    assert not thread.is_alive()


def submit(number: int, prompt: str = "hi", **options: Any) -> Submit:
    return Submit(job_id=job_id(number), prompt=prompt, options=Options(seed=3, **options))


def report(*deltas: SequenceDelta, num_running: int = 1) -> Report:
    return Report(1, 2 - num_running, 64, num_running, list(deltas))


def dispatched(worker: Peer) -> Dispatch:
    dispatch = worker.receive(Dispatch)
    assert isinstance(dispatch, Dispatch)
    return dispatch


class Generation:
    """A worker that generates one text after another in its one job."""

    def __init__(self, worker: Peer) -> None:
        self._worker = worker
        self._dispatch_id = dispatched(worker).dispatch_id
        self._position = 0

    def say(self, text: str, finish: Finish | None = None) -> None:
        delta = make_delta(self._dispatch_id, self._position, text, finish=finish)
        self._position += len(text)
        self._worker.send(report(delta, num_running=0 if finish else 1))

    def reach(self, subscriber: Peer) -> None:
        """Generate until the subscriber has received all of it."""
        give_up_at = time.monotonic() + PATIENCE_MS / 1000
        while time.monotonic() < give_up_at:
            self.say("x")
            if subscriber.socket.poll(20) and self._drained(subscriber):
                return
        raise AssertionError("the subscriber hears nothing")

    def _drained(self, subscriber: Peer) -> bool:
        length = 0
        while length < self._position and subscriber.socket.poll(500):
            heard = subscriber.receive()
            length = heard.length if isinstance(heard, Progress) else heard.index + len(heard.token_ids)
        return length == self._position

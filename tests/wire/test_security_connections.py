"""Access by keys: every case over real sockets, with a router that requires keys."""

from __future__ import annotations

import contextlib
import random
import socket
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from cactus_actors import AuthenticationFailed, Client
from cactus_actors.keys.key_file import Credentials, write_key_file
from cactus_actors.keys.key_pair import KeyPair
from cactus_actors.protocol.errors import ConfigurationInvalid, PermissionDenied
from cactus_actors.protocol.messages import Accepted, Rejected, Scale, Scaling, StatusRequest
from cactus_actors.protocol.worker_messages import Hello, Welcome
from cactus_actors.router.actor import RouterActor
from cactus_actors.router.auth.accepted_keys import RECHECK_S
from cactus_actors.workers.router_link import RouterLink
from tests.support.router.core_harness import job_id
from tests.support.router.echo_worker import EchoWorker
from tests.support.router.running_router import LOOPBACK, serving
from tests.support.router.scripted_router import until
from tests.support.router.secured_router import SecuredRouter, secured_router, submit
from tests.support.router.worker_messages import make_hello


def stranger_of(router: SecuredRouter) -> Credentials:
    """A client that knows the service's public key and is unknown to the service."""
    return Credentials(KeyPair.generate(), router.store.server_pair().public, "stranger")


def test_a_known_key_is_served(router: SecuredRouter) -> None:
    client = router.client(router.key("alice"))
    assert isinstance(client.ask(submit(1)), Accepted)


def test_messages_of_a_client_without_a_key_are_not_read(router: SecuredRouter) -> None:
    client = router.client(None)
    client.send(submit(1))
    until(lambda: router.refused().get("handshake", 0) > 0)
    assert client.is_silent()
    assert router.status().jobs.accepted == router.status().jobs.rejected == 0


def test_messages_of_an_unknown_key_are_not_read(router: SecuredRouter) -> None:
    client = router.client(stranger_of(router))
    client.send(submit(1))
    until(lambda: router.refused().get("unknown_key") == 1)
    assert client.is_silent()
    assert router.status().jobs.accepted == router.status().jobs.rejected == 0


@pytest.mark.parametrize("name", ["jobs", "stream", "workers"])
def test_bytes_without_a_handshake_become_no_message(router: SecuredRouter, name: str) -> None:
    port = urlsplit(getattr(router.endpoints, name)).port
    noise = random.Random(7)
    blobs = [b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\xff" + b"\0" * 8 + b"\x7f\1" + b"\0" * 53]
    blobs += [noise.randbytes(noise.randrange(1, 400)) for _ in range(60)]
    for blob in blobs:
        with socket.create_connection(("127.0.0.1", port or 0)) as connection:
            connection.sendall(blob)
    client = router.client(router.key("alice"))
    assert isinstance(client.ask(submit(1)), Accepted)
    jobs = router.status().jobs
    assert (jobs.accepted, jobs.rejected) == (1, 0)


def test_silent_connections_are_closed(router: SecuredRouter) -> None:
    """Silent connections would use up the descriptors."""
    ports = [urlsplit(getattr(router.endpoints, name)).port for name in ("jobs", "stream", "workers")]
    connections = [socket.create_connection(("127.0.0.1", port or 0)) for port in ports for _ in range(20)]
    deadline = time.monotonic() + 8
    for connection in connections:
        with connection:
            connection.settimeout(max(0.1, deadline - time.monotonic()))
            while connection.recv(4096):
                pass  # the greeting
    client = router.client(router.key("alice"))
    assert isinstance(client.ask(submit(1)), Accepted)


def test_the_python_client_gets_an_error_at_once(router: SecuredRouter, tmp_path: Path) -> None:
    endpoints = router.endpoints
    started = time.monotonic()
    with Client(endpoints.jobs, endpoints.stream, key_file="", timeout=60.0) as client:
        with pytest.raises(
            AuthenticationFailed, match="requires a key: give a key file with key_file, --key-file or CACTUS_KEY_FILE"
        ):
            client.status()
        with pytest.raises(
            AuthenticationFailed, match="requires a key: give a key file with key_file, --key-file or CACTUS_KEY_FILE"
        ):
            client.complete("again", max_tokens=1)
    write_key_file(tmp_path / "stranger.key", stranger_of(router), "client", "nobody")
    with (
        Client(endpoints.jobs, endpoints.stream, key_file=tmp_path / "stranger.key", timeout=60.0) as client,
        pytest.raises(AuthenticationFailed, match="does not accept the key 'stranger'"),
    ):
        client.complete("hello", max_tokens=1)
    assert time.monotonic() - started < 30  # before any time limit of the client


def test_a_client_with_a_key_sends_nothing_to_a_server_without_keys(tmp_path: Path) -> None:
    credentials = Credentials(KeyPair.generate(), KeyPair.generate().public, "alice")
    write_key_file(tmp_path / "alice.key", credentials, "client", "alice")
    with (
        serving() as open_router,
        Client(open_router.endpoints.jobs, open_router.endpoints.stream, key_file=tmp_path / "alice.key") as client,
        pytest.raises(AuthenticationFailed, match="does not use keys"),
    ):
        client.complete("secret", max_tokens=1)


def test_a_client_sends_nothing_to_an_impostor(router: SecuredRouter, tmp_path: Path) -> None:
    """The peer at the endpoint does not have the key by which the client identifies the service."""
    known = router.key("alice")
    credentials = Credentials(known.pair, KeyPair.generate().public, "alice")
    write_key_file(tmp_path / "alice.key", credentials, "client", "alice")
    started = time.monotonic()
    with (
        Client(router.endpoints.jobs, router.endpoints.stream, timeout=60.0, key_file=tmp_path / "alice.key") as client,
        pytest.raises(AuthenticationFailed, match="is not the service that issued the key 'alice'"),
    ):
        client.complete("secret", max_tokens=1)
    assert time.monotonic() - started < 30  # before any time limit of the client
    assert router.status().jobs.accepted == 0
    assert router.refused()["handshake"] < 20  # it does not reconnect again and again


def test_a_client_key_is_refused_as_a_worker_key(router: SecuredRouter) -> None:
    impostor = router.stranger(router.key("alice"))
    impostor.send(make_hello("impostor"))
    until(lambda: router.refused().get("wrong_role") == 1)
    assert impostor.is_silent()
    assert router.status().workers == []


def test_a_worker_key_is_refused_as_a_client_key(router: SecuredRouter) -> None:
    worker_key = router.key("w", "worker")
    client, subscriber = router.client(worker_key), router.subscriber(worker_key, "")
    client.send(submit(1))
    until(lambda: router.refused().get("wrong_role", 0) >= 2)
    assert client.is_silent()
    assert subscriber.is_silent()
    assert router.status().jobs.accepted == 0


def listen(link: RouterLink, *, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        link.receive(0.05)


def test_a_refused_worker_reports_it(router: SecuredRouter) -> None:
    """It must not wait for ever for work that cannot come."""
    for credentials in (stranger_of(router), None):
        with RouterLink(router.endpoints.workers, credentials) as link, pytest.raises(AuthenticationFailed):
            listen(link, seconds=60)  # a peer without a key gets the reason if it reads before it is cut off


def test_a_worker_key_is_accepted(router: SecuredRouter) -> None:
    hello: Hello = make_hello("w1")
    with RouterLink(router.endpoints.workers, router.key("w", "worker")) as link:
        assert link.send([hello])
        assert isinstance(link.receive(60.0)[0], Welcome)


def test_only_an_operator_scales_the_service(router: SecuredRouter) -> None:
    client, operator = router.client(router.key("alice")), router.client(router.key("olga", "operator"))
    refused = client.ask(Scale(num_workers=7))
    assert isinstance(refused, Rejected)
    assert refused.error.type == PermissionDenied.type
    assert router.status().desired_workers == 1
    assert isinstance(operator.ask(Scale(num_workers=7)), Scaling)
    assert router.status().desired_workers == 7


def test_a_new_key_works_and_a_revoked_one_does_not_without_a_restart(router: SecuredRouter) -> None:
    client = router.client(router.key("alice"))
    assert isinstance(client.ask(submit(1)), Accepted)
    credentials = router.key("late")
    late = router.client(credentials)
    assert isinstance(late.ask(submit(2)), Accepted)
    subscriber = router.subscriber(credentials, job_id(2))
    until(lambda: job_id(2) in router.actor.core.state.topics)

    router.store.revoke("late")
    time.sleep(RECHECK_S + 0.2)
    refused = late.ask(StatusRequest(request_id="r"))
    assert isinstance(refused, Rejected)
    assert refused.error.type == AuthenticationFailed.type
    subscriber.socket.subscribe(job_id(1))
    until(lambda: list(router.actor.core.state.topics) == [])
    again = router.client(credentials)
    again.send(submit(3))
    assert again.is_silent()
    assert isinstance(client.ask(submit(4)), Accepted)


def test_a_router_without_its_own_keys_does_not_start(tmp_path: Path) -> None:
    from cactus_actors.config import RouterSettings

    actor = RouterActor(RouterSettings(keys_dir=str(tmp_path / "nothing"), **LOOPBACK))
    with pytest.raises(ConfigurationInvalid, match=r"server\.key"):
        actor.start()


class Wiretap:
    """A TCP relay that records the traffic."""

    def __init__(self, endpoint: str) -> None:
        self._to = ("127.0.0.1", urlsplit(endpoint).port or 0)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.endpoint = f"tcp://127.0.0.1:{self._listener.getsockname()[1]}"
        self.heard = bytearray()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                far = socket.create_connection(self._to)
                for source, sink in ((near, far), (far, near)):
                    threading.Thread(target=self._relay, args=(source, sink), daemon=True).start()

    def _relay(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError), source, sink:
            while data := source.recv(65536):
                self.heard += data
                sink.sendall(data)
            sink.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize("has_keys", [True, False])
def test_connections_with_keys_are_encrypted(tmp_path: Path, has_keys: bool) -> None:
    secret = "the quick brown fox"
    with contextlib.ExitStack() as stack:
        if has_keys:
            router = stack.enter_context(secured_router(tmp_path))
            endpoints, key_file = router.endpoints, str(router.key_file("alice"))
            worker_key = router.key("w", "worker")
        else:
            endpoints, key_file, worker_key = stack.enter_context(serving()).endpoints, "", None
        taps = [Wiretap(endpoint) for endpoint in (endpoints.jobs, endpoints.stream, endpoints.workers)]
        stack.enter_context(EchoWorker(taps[2].endpoint, step_s=0.001, credentials=worker_key))
        client = stack.enter_context(Client(taps[0].endpoint, taps[1].endpoint, key_file=key_file))
        streamed = "".join(delta.text for delta in client.stream(secret, max_tokens=20))
        assert streamed == "\1" + secret
        for tap in taps:
            tap.close()
    heard = [secret.encode() in tap.heard for tap in (taps[0], taps[1])]
    assert all(len(tap.heard) > 100 for tap in taps)
    assert any(heard) is not has_keys

"""A client whose endpoint is not a jobs endpoint reports what listens there, without waiting."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import zmq

from cactus_actors import Client, ConfigurationInvalid, Unavailable
from cactus_actors.client.peer_probe import Handshakes, identify_peer

HTTP_ANSWER = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"


@contextmanager
def listening(answer: bytes) -> Iterator[str]:
    """A server that replies to the first bytes of every connection with `answer` and closes it."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    if connection.recv(64):
                        connection.sendall(answer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"tcp://127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)
        thread.join(60)


def test_an_http_port_is_recognised_at_once() -> None:
    with listening(HTTP_ANSWER) as endpoint, Client(endpoint, timeout=60.0) as client:
        with pytest.raises(ConfigurationInvalid, match=r"is an HTTP port; .*jobs endpoint"):
            client.status()
        with pytest.raises(ConfigurationInvalid, match="is an HTTP port"):
            client.complete("hello")


def test_a_silent_peer_times_out() -> None:
    with (
        listening(b"220 mail") as endpoint,
        Client(endpoint, timeout=1.5) as client,
        pytest.raises(Unavailable, match="no answer"),
    ):
        client.status()


def test_sockets_with_keys_are_recognised() -> None:
    context = zmq.Context()
    with context, context.socket(zmq.ROUTER) as with_keys, context.socket(zmq.ROUTER) as without:
        for asked in (with_keys, without):
            asked.linger = 0
        with_keys.curve_server = True
        with_keys.curve_secretkey = zmq.curve_keypair()[1]
        found = []
        for asked in (with_keys, without):
            asked.bind("tcp://127.0.0.1:*")
            found.append(asyncio.run(identify_peer(asked.last_endpoint.decode().rstrip("\0"))))
    assert found == ["curve", "other"]
    assert asyncio.run(identify_peer("ipc:///nowhere")) == "other"
    with listening(b"\x15\x03\x01\x00\x02\x02\x16") as endpoint:
        assert asyncio.run(identify_peer(endpoint)) == "http"  # a server of HTTPS


def test_only_connections_that_end_before_their_handshake_count() -> None:
    handshakes = Handshakes()
    handshakes.on_connected()
    handshakes.on_succeeded()
    assert not handshakes.on_disconnected()
    for number in (1, 2):
        handshakes.on_connected()
        assert handshakes.on_disconnected()
        assert handshakes.num_broken == number
    assert not handshakes.on_disconnected()
    handshakes.on_connected()
    handshakes.on_succeeded()
    assert handshakes.num_broken == 0

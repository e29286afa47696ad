"""The ZeroMQ sockets of a client: how they connect, are read, and tell that a service refuses one."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import zmq
import zmq.asyncio

from cactus_actors.client.peer_probe import Peer
from cactus_actors.config import DEFAULT_JOBS_ENDPOINT
from cactus_actors.keys.key_file import KEY_FILE_VARIABLE, Credentials
from cactus_actors.protocol.errors import AuthenticationFailed, CactusError, ConfigurationInvalid
from cactus_actors.protocol.tcp_keepalive import set_options

LINGER_MS = 300
MAX_BROKEN_HANDSHAKES = 5
"""So many in a row are no accident of a busy or restarted service."""
MAX_QUEUED_MESSAGES = 100_000
MAX_CONSECUTIVE_READS = 32
SOCKET_OPTIONS = {
    zmq.LINGER: LINGER_MS,
    zmq.SNDHWM: MAX_QUEUED_MESSAGES,
    zmq.RCVHWM: MAX_QUEUED_MESSAGES,
    zmq.RECONNECT_IVL: 100,
    zmq.RECONNECT_IVL_MAX: 1000,
}
CONNECTING, CONNECTED, DISCONNECTED = (
    zmq.EVENT_CONNECTED,
    zmq.EVENT_HANDSHAKE_SUCCEEDED,
    zmq.EVENT_DISCONNECTED,
)
REFUSED = zmq.EVENT_HANDSHAKE_FAILED_AUTH | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL


def make_socket(context: zmq.asyncio.Context, kind: int, credentials: Credentials | None) -> zmq.asyncio.Socket:
    """A socket that is not connected yet."""
    socket = context.socket(kind)
    set_options(socket, SOCKET_OPTIONS)
    if credentials is not None:
        credentials.secure(socket)
    return socket


def connect(socket: zmq.asyncio.Socket, endpoint: str) -> None:
    """Let ZeroMQ keep the socket connected; raises ConfigurationInvalid."""
    try:
        socket.connect(endpoint)
    except zmq.ZMQError as error:
        raise ConfigurationInvalid(f"cannot connect to {endpoint!r}: {error}") from None


def reconnect(socket: zmq.asyncio.Socket, endpoint: str) -> None:
    """Connect to the endpoint anew, without what still waited to be sent."""
    leave(socket, endpoint)
    socket.connect(endpoint)


def leave(socket: zmq.asyncio.Socket, endpoint: str) -> None:
    """Connect no more."""
    with contextlib.suppress(zmq.ZMQError):  # a connection that was refused is gone already
        socket.disconnect(endpoint)


def events_of(context: zmq.asyncio.Context, socket: zmq.asyncio.Socket) -> zmq.asyncio.Socket:
    """Where events come in: connections begin, are there, end, or are refused, which they are for good."""
    endpoint = "inproc://events"
    socket.monitor(endpoint, CONNECTING | CONNECTED | DISCONNECTED | REFUSED)
    monitor = context.socket(zmq.PAIR)
    monitor.setsockopt(zmq.LINGER, 0)
    monitor.connect(endpoint)
    return monitor


def refusal(event: int, endpoint: str, credentials: Credentials | None) -> AuthenticationFailed:
    """What such an event means."""
    if credentials is None:
        reason = f"{endpoint} asks for a key: name your key file (key_file, or {KEY_FILE_VARIABLE})"
    elif event == zmq.EVENT_HANDSHAKE_FAILED_AUTH:
        name = credentials.name
        reason = f"{endpoint} does not accept the key {name!r}: it is unknown there, revoked, or a worker's"
    else:
        reason = f"{endpoint} does not ask for keys; nothing is sent there with one"
    return AuthenticationFailed(reason)


def mismatch(peer: Peer, endpoint: str, credentials: Credentials | None, num_broken: int) -> CactusError | None:
    """Why handshakes with `peer` break off, if that will not change."""
    if peer == "http":
        return ConfigurationInvalid(
            f"{endpoint} is an HTTP port; jobs go to the service's jobs endpoint: `cactus serve` prints it "
            f"as jobs=tcp://HOST:PORT, by default {DEFAULT_JOBS_ENDPOINT}"
        )
    if peer == "curve" and credentials is not None and num_broken >= MAX_BROKEN_HANDSHAKES:
        return AuthenticationFailed(
            f"{endpoint} is not the service that the key {credentials.name!r} is for: "
            "it has another public key than the key file names"
        )
    return None


async def received(socket: zmq.asyncio.Socket) -> AsyncIterator[list[bytes]]:
    """Every message of `socket`; taking one that is there lets nobody else run, so that is done."""
    ready: zmq.Socket[bytes] = zmq.Socket.shadow(socket)  # what is there already is read without a future
    for number in itertools.count(1):
        try:
            frames = ready.recv_multipart(zmq.NOBLOCK)
        except zmq.Again:
            frames = await socket.recv_multipart()
        yield frames
        if number % MAX_CONSECUTIVE_READS == 0:
            await asyncio.sleep(0)


def default_stream_endpoint(endpoint: str) -> str:
    """The stream endpoint that belongs to a job endpoint: the same host, the next port."""
    try:
        port = urlsplit(endpoint).port
    except ValueError:
        port = None
    if not endpoint.startswith("tcp://") or port is None:
        raise ConfigurationInvalid(
            f"{endpoint!r} is not tcp://HOST:PORT; for another transport name the stream endpoint too"
        )
    return f"{endpoint.rsplit(':', 1)[0]}:{port + 1}"

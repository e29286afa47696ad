"""The ZeroMQ sockets of a client: connecting, reading, and recognising a refusal by the service."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from urllib.parse import urlsplit

import zmq
import zmq.asyncio
import zmq.backend

from cactus_actors.client.peer_probe import Peer
from cactus_actors.config import DEFAULT_JOBS_ENDPOINT
from cactus_actors.keys.key_file import KEY_FILE_VARIABLE, Credentials
from cactus_actors.protocol.errors import AuthenticationFailed, CactusError, ConfigurationInvalid
from cactus_actors.protocol.tcp_keepalive import set_options

LINGER_MS = 300
MAX_BROKEN_HANDSHAKES = 5
"""This many in a row are not caused by a busy or restarted service."""
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
_NOW, _MORE, _POLLIN = int(zmq.NOBLOCK), int(zmq.SNDMORE), int(zmq.POLLIN)
_EVENTS, _HAS_MORE = int(zmq.EVENTS), int(zmq.RCVMORE)
# pyzmq's own methods for messages take longer to determine kinds and flags than to send or read them.
_send, _receive, _option_of = zmq.backend.Socket.send, zmq.backend.Socket.recv, zmq.backend.Socket.get
REFUSED = zmq.EVENT_HANDSHAKE_FAILED_AUTH | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL


def make_socket(context: zmq.asyncio.Context, kind: int, credentials: Credentials | None) -> zmq.asyncio.Socket:
    """A socket that is not yet connected."""
    socket = context.socket(kind)
    set_options(socket, SOCKET_OPTIONS)
    if credentials is not None:
        credentials.secure(socket)
    return socket


def connect(socket: zmq.asyncio.Socket, endpoint: str) -> None:
    """Connect; ZeroMQ keeps the connection up. Raises ConfigurationInvalid."""
    try:
        socket.connect(endpoint)
    except zmq.ZMQError as error:
        raise ConfigurationInvalid(f"cannot connect to {endpoint!r}: {error}") from None


def reconnect(socket: zmq.asyncio.Socket, endpoint: str) -> None:
    """Replace the connection to an endpoint, dropping queued messages."""
    leave(socket, endpoint)
    socket.connect(endpoint)


def leave(socket: zmq.asyncio.Socket, endpoint: str) -> None:
    with contextlib.suppress(zmq.ZMQError):  # a refused connection is gone already
        socket.disconnect(endpoint)


def events_of(context: zmq.asyncio.Context, socket: zmq.asyncio.Socket) -> zmq.asyncio.Socket:
    """A socket that receives connection events: connecting, connected, disconnected, refused (final)."""
    endpoint = "inproc://events"
    socket.monitor(endpoint, CONNECTING | CONNECTED | DISCONNECTED | REFUSED)
    monitor = context.socket(zmq.PAIR)
    monitor.setsockopt(zmq.LINGER, 0)
    monitor.connect(endpoint)
    return monitor


def refusal(event: int, endpoint: str, credentials: Credentials | None) -> AuthenticationFailed:
    if credentials is None:
        reason = f"{endpoint} requires a key: give a key file with key_file, --key-file or {KEY_FILE_VARIABLE}"
    elif event == zmq.EVENT_HANDSHAKE_FAILED_AUTH:
        name = credentials.name
        reason = f"{endpoint} does not accept the key {name!r}: it is unknown there, revoked, or a worker key"
    else:
        reason = f"{endpoint} does not use keys; a client with a key sends nothing to it"
    return AuthenticationFailed(reason)


def mismatch(peer: Peer, endpoint: str, credentials: Credentials | None, num_broken: int) -> CactusError | None:
    """The error for repeated failed handshakes with `peer`; None if they may succeed later."""
    if peer == "http":
        return ConfigurationInvalid(
            f"{endpoint} is an HTTP port; jobs go to the service's jobs endpoint: `cactus serve` prints it "
            f"as jobs=tcp://HOST:PORT, by default {DEFAULT_JOBS_ENDPOINT}"
        )
    if peer == "curve" and credentials is not None and num_broken >= MAX_BROKEN_HANDSHAKES:
        return AuthenticationFailed(
            f"{endpoint} is not the service that issued the key {credentials.name!r}: "
            "its public key differs from the one in the key file"
        )
    return None


class SocketReader:
    """Reads a socket in callbacks of the event loop, and sends on it: asyncio's sockets make a future a message.

    `on_message` is called with the frames of each message; other callbacks run after every MAX_CONSECUTIVE_READS of
    them.
    """

    def __init__(self, socket: zmq.asyncio.Socket, on_message: Callable[[list[bytes]], None]) -> None:
        self._socket: zmq.Socket[bytes] = zmq.Socket.shadow(socket)
        self._on_message = on_message
        self._loop = asyncio.get_running_loop()
        self._descriptor = socket.fileno()
        self._is_open = True
        self._loop.add_reader(self._descriptor, self._read)
        self._loop.call_soon(self._read)

    def send(self, frames: Sequence[bytes]) -> None:
        """Queue a message; raises zmq.Again if the queue is full."""
        *first, last = frames
        for frame in first:
            _send(self._socket, frame, _NOW | _MORE)
        _send(self._socket, last, _NOW)
        self.look()

    def look(self) -> None:
        """Read the messages that are there, soon.

        The descriptor becomes readable once for each event of the socket, unless sending or connecting takes note of
        the event first.
        """
        if self._has_message:
            self._loop.call_soon(self._read)

    def close(self) -> None:
        """Read no more; the socket stays open."""
        self._is_open = False
        self._loop.remove_reader(self._descriptor)

    @property
    def _has_message(self) -> bool:
        return bool(int(_option_of(self._socket, _EVENTS)) & _POLLIN)

    def _read(self) -> None:
        for _ in range(MAX_CONSECUTIVE_READS):
            if not (self._is_open and self._has_message):
                return
            frames = [_receive(self._socket, _NOW)]
            while _option_of(self._socket, _HAS_MORE):
                frames.append(_receive(self._socket, _NOW))
            self._on_message(frames)
        self._loop.call_soon(self._read)


def default_stream_endpoint(endpoint: str) -> str:
    """The default stream endpoint of a jobs endpoint: the same host, the next port."""
    try:
        port = urlsplit(endpoint).port
    except ValueError:
        port = None
    if not endpoint.startswith("tcp://") or port is None:
        raise ConfigurationInvalid(
            f"{endpoint!r} is not tcp://HOST:PORT; for another transport give the stream endpoint too"
        )
    return f"{endpoint.rsplit(':', 1)[0]}:{port + 1}"

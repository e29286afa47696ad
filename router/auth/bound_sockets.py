"""The router's three sockets, with every limit that ZeroMQ leaves open set."""

from __future__ import annotations

import time

import zmq
import zmq.backend

from cactus_actors.protocol.errors import ConfigurationInvalid
from cactus_actors.protocol.pictures import MAX_PICTURE_BYTES
from cactus_actors.protocol.tcp_keepalive import set_options
from cactus_actors.protocol.wire import MAX_MESSAGE_BYTES

MAX_FRAME = MAX_MESSAGE_BYTES + 1024
MAX_PICTURE_FRAME = MAX_PICTURE_BYTES + 1024
MAX_SUBSCRIPTION_FRAME = 128
MAX_ENCRYPTED_FRAME = 1024
"""The longest frame of a CURVE handshake."""
HIGH_WATER_MARK = 10_000
UNREAD_REQUESTS = 4
"""Unread requests of one client; each may have the maximum length of a message."""
UNREAD_REPLIES = 2_000
STREAM_HIGH_WATER_MARK = 2_000
STREAM_SEND_BUFFER = 256 * 1024
UNREAD_SUBSCRIPTIONS = 4
"""ZeroMQ takes all waiting subscriptions at once, in the router's own thread: there must never be many."""
LINGER_MS = 500
MAX_PORT = 65_535
BUSY_S = 2.0
"""Seconds for which the port of an ending process may stay in use."""
BUSY_POLL_S = 0.02
_MORE, _LAST = int(zmq.NOBLOCK | zmq.SNDMORE), int(zmq.NOBLOCK)


def jobs_socket(context: zmq.Context[zmq.Socket[bytes]]) -> zmq.Socket[bytes]:
    """ROUTER for clients; a reply that cannot be delivered raises instead of vanishing.

    The unread messages of one client are bounded on either side in number, and each in size.
    """
    socket = _router(context, MAX_PICTURE_FRAME)
    socket.setsockopt(zmq.RCVHWM, UNREAD_REQUESTS)
    socket.setsockopt(zmq.SNDHWM, UNREAD_REPLIES)
    return socket


def workers_socket(context: zmq.Context[zmq.Socket[bytes]]) -> zmq.Socket[bytes]:
    """ROUTER for workers."""
    return _router(context, MAX_FRAME)


def stream_socket(context: zmq.Context[zmq.Socket[bytes]], max_unread: int, send_buffer: int) -> zmq.Socket[bytes]:
    """XPUB whose subscriptions take effect only when the router sets them.

    Topics match by prefix, so a short or empty one would match the streams of others. A subscriber that does not read
    costs `max_unread` messages and `send_buffer` bytes, and then misses messages.
    """
    socket = context.socket(zmq.XPUB)
    _limit(socket, MAX_SUBSCRIPTION_FRAME)
    socket.setsockopt(zmq.SNDHWM, max_unread)
    socket.setsockopt(zmq.RCVHWM, UNREAD_SUBSCRIPTIONS)
    socket.setsockopt(zmq.SNDBUF, send_buffer)
    socket.setsockopt(zmq.XPUB_MANUAL, 1)
    return socket


def bind(socket: zmq.Socket[bytes], endpoint: str) -> str:
    """Bind and return the real endpoint; raises ConfigurationInvalid naming the configured one."""
    port = endpoint.rpartition(":")[2]
    if endpoint.startswith("tcp://") and port.isdecimal() and int(port) > MAX_PORT:
        # ZeroMQ would take the port modulo 65536.
        raise ConfigurationInvalid(f"{endpoint}: ports end at {MAX_PORT}")
    until = time.monotonic() + BUSY_S
    while (errno := _bind(socket, endpoint)) is not None:
        if errno != zmq.EADDRINUSE or time.monotonic() >= until:
            raise ConfigurationInvalid(f"{endpoint}: cannot listen: {zmq.strerror(errno)}")
        time.sleep(BUSY_POLL_S)
    return socket.getsockopt_string(zmq.LAST_ENDPOINT)


def send_to_peer(socket: zmq.Socket[bytes], frames: list[bytes]) -> bool:
    """Send on a ROUTER; False if the peer is not connected or its queue is full."""
    # pyzmq's own `send_multipart` takes longer to determine the kind of the socket than to send.
    identity, header, payload = frames
    send = zmq.backend.Socket.send
    try:
        send(socket, identity, _MORE)
        send(socket, header, _MORE)
        send(socket, payload, _LAST)
    except zmq.ZMQError as error:
        if error.errno in (zmq.EHOSTUNREACH, zmq.EAGAIN):
            return False
        raise
    return True


def _bind(socket: zmq.Socket[bytes], endpoint: str) -> int | None:
    """The number of the error, if it fails."""
    try:
        socket.bind(endpoint)
    except zmq.ZMQError as error:
        return error.errno or 0
    return None


def _router(context: zmq.Context[zmq.Socket[bytes]], max_frame: int) -> zmq.Socket[bytes]:
    socket = context.socket(zmq.ROUTER)
    _limit(socket, max_frame)
    socket.setsockopt(zmq.ROUTER_MANDATORY, 1)
    return socket


def _limit(socket: zmq.Socket[bytes], max_frame: int) -> None:
    options = {
        zmq.LINGER: LINGER_MS,
        zmq.SNDHWM: HIGH_WATER_MARK,
        zmq.RCVHWM: HIGH_WATER_MARK,
        zmq.MAXMSGSIZE: max_frame,
        zmq.HANDSHAKE_IVL: 2000,
    }
    set_options(socket, options)

"""The DEALER socket to the router."""

from __future__ import annotations

import asyncio
import uuid

import msgspec
import zmq
import zmq.asyncio

from cactus_actors.keys.key_file import Credentials
from cactus_actors.protocol.tcp_keepalive import set_options
from cactus_actors.protocol.wire import MAX_MESSAGE_BYTES, encode

_OPTIONS = {
    # Messages are queued for live connections only: those for a dead router must not reach the next one.
    zmq.IMMEDIATE: 1,
    zmq.LINGER: 500,
    zmq.SNDHWM: 1000,
    zmq.RCVHWM: 1000,
    zmq.MAXMSGSIZE: 16 * MAX_MESSAGE_BYTES,
    zmq.RECONNECT_IVL: 100,
    zmq.RECONNECT_IVL_MAX: 1000,
}


def open_worker_socket(
    context: zmq.asyncio.Context, endpoint: str, worker_id: str, credentials: Credentials | None
) -> zmq.asyncio.Socket:
    """A socket that stays connected to the router's workers endpoint."""
    socket = context.socket(zmq.DEALER)
    set_options(socket, _OPTIONS)
    if credentials is not None:
        credentials.secure(socket)
    # Stable over reconnections, new for each process: the connection of a predecessor may still exist.
    socket.setsockopt(zmq.ROUTING_ID, f"{worker_id}-{uuid.uuid4().hex}".encode())
    socket.connect(endpoint)
    return socket


def send(socket: zmq.asyncio.Socket, message: msgspec.Struct) -> bool:
    """Queue a message without blocking; False if there is no connection or its queue is full."""
    sent = socket.send_multipart(encode(message), flags=zmq.NOBLOCK)
    assert isinstance(sent, asyncio.Future)  # a non-blocking send is resolved when it returns
    try:
        sent.result()
    except zmq.Again:
        return False
    return True

"""The ZeroMQ sockets of a client, and how ZeroMQ tells that a service refuses one."""

from __future__ import annotations

import zmq
import zmq.asyncio

from cactus_actors.keys.key_file import KEY_FILE_VARIABLE, Credentials
from cactus_actors.protocol.errors import AuthenticationFailed, ConfigurationInvalid
from cactus_actors.protocol.link import set_options

LINGER_MS = 300
MAX_WAITING_MESSAGES = 100_000
SOCKET_OPTIONS = {
    zmq.LINGER: LINGER_MS,
    zmq.SNDHWM: MAX_WAITING_MESSAGES,
    zmq.RCVHWM: MAX_WAITING_MESSAGES,
    zmq.RECONNECT_IVL: 100,
    zmq.RECONNECT_IVL_MAX: 1000,
}
REFUSED = zmq.EVENT_HANDSHAKE_FAILED_AUTH | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL


def make_socket(
    context: zmq.asyncio.Context, kind: int, credentials: Credentials | None
) -> zmq.asyncio.Socket:
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


def refusals_of(context: zmq.asyncio.Context, socket: zmq.asyncio.Socket) -> zmq.asyncio.Socket:
    """Where an event comes in when the other side refuses `socket`, which it then does for good."""
    endpoint = "inproc://refusals"
    socket.monitor(endpoint, REFUSED)
    monitor = context.socket(zmq.PAIR)
    monitor.setsockopt(zmq.LINGER, 0)
    monitor.connect(endpoint)
    return monitor


def refusal(event: int, endpoint: str, credentials: Credentials | None) -> AuthenticationFailed:
    """What such an event means."""
    if credentials is None:
        reason = f"{endpoint} asks for a key: name your key file (key_file, or {KEY_FILE_VARIABLE})"
    elif event == zmq.EVENT_HANDSHAKE_FAILED_AUTH:
        reason = f"{endpoint} does not accept the key {credentials.name!r}"
    else:
        reason = f"{endpoint} does not ask for keys; nothing is sent there with one"
    return AuthenticationFailed(reason)

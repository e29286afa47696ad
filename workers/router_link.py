"""The socket between a worker and the router."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType

import zmq

from cactus_actors.keys.key_file import Credentials
from cactus_actors.protocol.errors import AuthenticationFailed
from cactus_actors.protocol.tcp_keepalive import set_options
from cactus_actors.protocol.wire import MAX_COMMAND_BYTES, encode, router_command_decoder
from cactus_actors.protocol.worker_messages import RouterCommand, WorkerMessage

QUEUE_MESSAGES = 1000
MAX_COMMANDS_AT_ONCE = 256

_OPTIONS = {
    zmq.LINGER: 500,  # milliseconds, as all times here
    zmq.SNDHWM: QUEUE_MESSAGES,
    zmq.RCVHWM: QUEUE_MESSAGES,
    zmq.MAXMSGSIZE: MAX_COMMAND_BYTES,
    zmq.HANDSHAKE_IVL: 2000,
    zmq.RECONNECT_IVL: 100,
    zmq.RECONNECT_IVL_MAX: 2000,
}

_REFUSALS = zmq.EVENT_HANDSHAKE_FAILED_AUTH | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL


class RouterLink:
    """A DEALER socket connected to the router; blocks only as long as its caller allows."""

    def __init__(self, endpoint: str, credentials: Credentials | None = None) -> None:
        self._context = zmq.Context()
        self._socket = self._context.socket(zmq.DEALER)
        set_options(self._socket, _OPTIONS)
        if credentials is not None:
            credentials.secure(self._socket)
        self._refusals: zmq.Socket[bytes] = self._socket.get_monitor_socket(_REFUSALS)
        self._socket.connect(endpoint)
        self._decoder = router_command_decoder()

    def __enter__(self) -> RouterLink:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.disable_monitor()
        self._refusals.close()
        self._socket.close()
        self._context.term()

    def send(self, messages: Sequence[WorkerMessage]) -> bool:
        """Queue messages; False if the queue is full because the router has not read for long."""
        try:
            for message in messages:
                self._socket.send_multipart(encode(message), zmq.DONTWAIT)
        except zmq.Again:
            return False
        return True

    def receive(self, wait_s: float) -> list[RouterCommand]:
        """Commands received, after waiting up to `wait_s` for the first.

        Raises InvalidMessage, and AuthenticationFailed after the router has refused this worker.
        """
        commands: list[RouterCommand] = []
        if wait_s > 0 and not self._socket.poll(int(wait_s * 1000)):
            if self._refusals.poll(0):
                raise AuthenticationFailed("the router does not accept this worker's key")
            return commands
        while len(commands) < MAX_COMMANDS_AT_ONCE:
            try:
                frames = self._socket.recv_multipart(zmq.DONTWAIT)
            except zmq.Again:
                break
            commands.append(self._decoder.decode(frames))
        return commands

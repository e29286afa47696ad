"""The topics a client is subscribed to, spread over its SUB sockets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import zmq
import zmq.asyncio

from cactus_actors.protocol.tcp_keepalive import MAX_TOPICS


class Subscriptions:
    """The SUB sockets of a client; `open_socket` connects another when all are full."""

    def __init__(self, open_socket: Callable[[], zmq.asyncio.Socket]) -> None:
        self._open_socket = open_socket
        self._topics: dict[zmq.asyncio.Socket, Counter[bytes]] = {}
        self._ended: list[bytes] = []
        self._open_another()

    @property
    def sockets(self) -> list[zmq.asyncio.Socket]:
        return list(self._topics)

    def subscribe(self, topic: bytes) -> None:
        """Subscribe to a topic; subscriptions are counted.

        The service hears of the first and of the end of the last: ZeroMQ tells it of every one, but of one end only.
        """
        self.leave_ended()
        socket = self._socket_of(topic) or self._socket_with_room() or self._open_another()
        self._topics[socket][topic] += 1
        if self._topics[socket][topic] == 1:
            socket.setsockopt(zmq.SUBSCRIBE, topic)

    def unsubscribe(self, topic: bytes) -> None:
        """Remove one subscription, with the next one that begins, or by `leave_ended`: the service is told of both."""
        self._ended.append(topic)

    def leave_ended(self) -> None:
        """Remove the subscriptions that have ended."""
        for topic in self._ended:
            self._leave(topic)
        self._ended.clear()

    def _leave(self, topic: bytes) -> None:
        socket = self._socket_of(topic)
        if socket is None:
            return
        self._topics[socket][topic] -= 1
        if not self._topics[socket][topic]:
            del self._topics[socket][topic]
            socket.setsockopt(zmq.UNSUBSCRIBE, topic)

    def _socket_of(self, topic: bytes) -> zmq.asyncio.Socket | None:
        return next((socket for socket, topics in self._topics.items() if topic in topics), None)

    def _socket_with_room(self) -> zmq.asyncio.Socket | None:
        return next((socket for socket, topics in self._topics.items() if len(topics) < MAX_TOPICS), None)

    def _open_another(self) -> zmq.asyncio.Socket:
        socket = self._open_socket()
        self._topics[socket] = Counter()
        return socket

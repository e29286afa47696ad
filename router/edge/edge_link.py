"""One end of a socket pair that carries msgpack messages and never blocks."""

from __future__ import annotations

import socket
from typing import Any, Generic, TypeVar

import msgspec
import zmq

CHUNK = 256 * 1024
MAX_WAITING_BYTES = 1024 * 1024
"""More than this waits for the other end only as one message, or as the answer to messages of that end."""
_LENGTH_BYTES = 4

M = TypeVar("M")


class EdgeLink(Generic[M]):
    """Sends any message and receives those of the union `received`.

    A message is a length of four bytes, then its body. `receive` and `flush` raise EOFError once the other
    end is gone.
    """

    def __init__(self, connection: socket.socket, received: Any) -> None:
        self._connection = connection
        connection.setblocking(False)
        self._decoder: msgspec.msgpack.Decoder[M] = msgspec.msgpack.Decoder(received)
        self._encode = msgspec.msgpack.Encoder().encode
        self._incoming = bytearray()
        self._outgoing = bytearray()
        self.num_bytes_sent = 0

    def fileno(self) -> int:
        return self._connection.fileno()

    @property
    def events(self) -> int:
        """The events to poll for: messages to receive, and room for messages that wait."""
        return int(zmq.POLLIN | zmq.POLLOUT) if self._outgoing else int(zmq.POLLIN)

    @property
    def is_congested(self) -> bool:
        """True if the other end is so far behind that nothing more should be put."""
        return len(self._outgoing) > MAX_WAITING_BYTES

    def put(self, message: object) -> None:
        """Queue a message for the next `flush`."""
        body = self._encode(message)
        self._outgoing += len(body).to_bytes(_LENGTH_BYTES, "big")
        self._outgoing += body

    def flush(self) -> None:
        """Send as much as the other end has room for."""
        while self._outgoing:
            try:
                num_sent = self._connection.send(self._outgoing)
            except BlockingIOError:
                return
            except OSError as error:
                raise EOFError from error
            del self._outgoing[:num_sent]
            self.num_bytes_sent += num_sent

    def receive(self) -> list[M]:
        """The messages that have come, at most CHUNK bytes of them."""
        try:
            chunk = self._connection.recv(CHUNK)
        except BlockingIOError:
            return []
        except OSError as error:
            raise EOFError from error
        if not chunk:
            raise EOFError
        self._incoming += chunk
        return self._complete()

    def close(self) -> None:
        self._connection.close()

    def _complete(self) -> list[M]:
        messages: list[M] = []
        start = 0
        with memoryview(self._incoming) as view:
            while len(view) - start >= _LENGTH_BYTES:
                body = start + _LENGTH_BYTES
                stop = body + int.from_bytes(view[start:body], "big")
                if stop > len(view):
                    break
                messages.append(self._decoder.decode(view[body:stop]))
                start = stop
        del self._incoming[:start]
        return messages

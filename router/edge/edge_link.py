"""One end of a socket pair that carries msgpack messages and never blocks."""

from __future__ import annotations

import socket
from collections import deque
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

import msgspec
import zmq

CHUNK = 256 * 1024
MAX_WAITING_BYTES = 1024 * 1024
"""More than this waits for the other end only as one message, or as the answer to messages of that end."""
READABLE, _WRITABLE = int(zmq.POLLIN), int(zmq.POLLOUT)
_LENGTH_BYTES = 4

M = TypeVar("M", bound=msgspec.Struct)


class EdgeLink(Generic[M]):
    """Sends any message and receives those of the union `received`.

    A message is a length of four bytes, then its body. A message with a field `num_attached` is followed by as many
    frames in the same form, which are neither copied nor encoded here, and received at the end of its `frames`.
    `receive` and `flush` raise EOFError once the other end is gone.
    """

    def __init__(self, connection: socket.socket, received: Any) -> None:
        self._connection = connection
        connection.setblocking(False)
        self._decoder: msgspec.msgpack.Decoder[M] = msgspec.msgpack.Decoder(received)
        self._encode = msgspec.msgpack.Encoder().encode
        self._chunk = memoryview(bytearray(CHUNK))
        self._incoming = bytearray()
        self._incomplete: M | None = None
        """A message whose attached frames have not all come."""
        self._attached: list[bytes] = []
        self._outgoing: deque[bytearray | memoryview] = deque()
        self._joined = bytearray()
        """Messages that are sent together; the last of `_outgoing`, or empty."""
        self._later = bytearray()
        """Messages that wait for company."""
        self._num_outgoing = 0
        self.num_bytes_sent = 0

    def fileno(self) -> int:
        return self._connection.fileno()

    @property
    def events(self) -> int:
        """The events to poll for: messages to receive, and room for messages that wait."""
        return READABLE | _WRITABLE if self._outgoing else READABLE

    @property
    def is_congested(self) -> bool:
        """True if the other end is so far behind that nothing more should be put."""
        return self._num_outgoing + len(self._later) > MAX_WAITING_BYTES

    @property
    def has_later(self) -> bool:
        """True if messages wait for company."""
        return bool(self._later)

    def put(self, message: object, attached: Sequence[memoryview] = ()) -> None:
        """Queue a message for the next `flush`; its `num_attached` is the number of attached frames."""
        self.release()
        body = self._encode(message)
        self._put_bytes(len(body).to_bytes(_LENGTH_BYTES, "big"), body)
        for frame in attached:
            self._put_bytes(len(frame).to_bytes(_LENGTH_BYTES, "big"))
            self._outgoing.append(frame)
            self._num_outgoing += len(frame)

    def put_later(self, message: object) -> None:
        """Queue a message for which the other end need not be woken: it goes with the next one, or after `release`."""
        body = self._encode(message)
        self._later += len(body).to_bytes(_LENGTH_BYTES, "big")
        self._later += body

    def release(self) -> None:
        """Queue what `put_later` has kept for the next `flush`."""
        if self._later:
            self._put_bytes(self._later)
            self._later.clear()

    def flush(self) -> None:
        """Send as much as the other end has room for."""
        while self._outgoing:
            first = self._outgoing[0]
            try:
                num_sent = self._connection.send(first)
            except BlockingIOError:
                return
            except OSError as error:
                raise EOFError from error
            self._num_outgoing -= num_sent
            self.num_bytes_sent += num_sent
            if num_sent == len(first):
                self._outgoing.popleft()
            elif isinstance(first, memoryview):
                self._outgoing[0] = first[num_sent:]
            else:
                del first[:num_sent]

    def receive(self) -> list[M]:
        """The messages that have come, at most CHUNK bytes of them."""
        try:
            num_bytes = self._connection.recv_into(self._chunk)
        except BlockingIOError:
            return []
        except OSError as error:
            raise EOFError from error
        if not num_bytes:
            raise EOFError
        self._incoming += self._chunk[:num_bytes]
        return self._complete()

    def close(self) -> None:
        self._connection.close()

    def _put_bytes(self, *parts: bytes | bytearray) -> None:
        if not self._outgoing or self._outgoing[-1] is not self._joined:
            self._joined = bytearray()
            self._outgoing.append(self._joined)
        for part in parts:
            self._joined += part
            self._num_outgoing += len(part)

    def _complete(self) -> list[M]:
        messages: list[M] = []
        start = 0
        with memoryview(self._incoming) as view:
            while len(view) - start >= _LENGTH_BYTES:
                body = start + _LENGTH_BYTES
                stop = body + int.from_bytes(view[start:body], "big")
                if stop > len(view):
                    break
                if (message := self._taken(view[body:stop])) is not None:
                    messages.append(message)
                start = stop
        del self._incoming[:start]
        return messages

    def _taken(self, part: memoryview) -> M | None:
        """The message that ends with this body or attached frame; None if more frames follow."""
        if self._incomplete is None:
            message = self._decoder.decode(part)
            if not getattr(message, "num_attached", 0):
                return message
            self._incomplete = message
            return None
        self._attached.append(bytes(part))
        message, attached = self._incomplete, self._attached
        if len(attached) < message.num_attached:  # type: ignore[attr-defined]
            return None
        self._incomplete, self._attached = None, []
        return msgspec.structs.replace(message, frames=[*message.frames, *attached])  # type: ignore[attr-defined]

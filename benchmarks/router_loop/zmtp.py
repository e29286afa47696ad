"""ZeroMQ connections without a library (ZMTP 3, RFC 23): a library would cost more than the router does."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from urllib.parse import urlsplit

GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"NULL".ljust(20, b"\0") + bytes(32)
MORE, LONG, COMMAND = 1, 2, 4
CHUNK = 1 << 18
RECEIVE_BUFFER = 1 << 22


class ZmtpConnection:
    """A connection that has completed the handshake as a socket of `kind`."""

    def __init__(self, endpoint: str, kind: str) -> None:
        parts = urlsplit(endpoint)
        self.socket = socket.create_connection((parts.hostname or "", parts.port or 0))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)
        name = kind.encode()
        ready = b"\x05READY\x0bSocket-Type" + len(name).to_bytes(4, "big") + name
        self.socket.sendall(GREETING + frame(ready, COMMAND))
        received = b""
        while len(received) < 66 or len(received) < 66 + received[65]:
            received += self.socket.recv(66 + 256 - len(received))
        self.received = received[66 + received[65] :]

    def fileno(self) -> int:
        return self.socket.fileno()

    def send(self, *frames: bytes) -> None:
        """Send one message."""
        *others, last = frames
        self.socket.sendall(b"".join([*(frame(it, MORE) for it in others), frame(last)]))

    def receive(self) -> Sequence[list[bytes]]:
        """Wait for data, and return the messages that are complete."""
        self.received += self.socket.recv(CHUNK)
        messages: list[list[bytes]] = []
        frames: list[bytes] = []
        start = taken = 0
        while (found := frame_at(self.received, start)) is not None:
            flags, begin, start = found
            if flags & COMMAND:
                continue
            frames.append(self.received[begin:start])
            if not flags & MORE:
                messages.append(frames)
                frames, taken = [], start
        self.received = self.received[taken:]
        return messages


def frame(body: bytes, flags: int = 0) -> bytes:
    """One frame in its encoded form."""
    if len(body) < 256:
        return bytes((flags, len(body))) + body
    return bytes((flags | LONG,)) + len(body).to_bytes(8, "big") + body


def frame_at(received: bytes, start: int) -> tuple[int, int, int] | None:
    """The flags of the frame at this offset, and the begin and end of its body; None if it is not complete."""
    if len(received) < start + 2:
        return None
    flags = received[start]
    if flags & LONG:
        begin = start + 9
        end = begin + int.from_bytes(received[start + 1 : begin], "big")
    else:
        begin = start + 2
        end = begin + received[start + 1]
    return None if end > len(received) or begin > len(received) else (flags, begin, end)

"""A ZMTP 3 peer without a library (RFC 23), for frames that no ZeroMQ library would send."""

from __future__ import annotations

import contextlib
import socket
import struct
from urllib.parse import urlsplit

GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"NULL".ljust(20, b"\0") + bytes(32)
MORE, LONG, COMMAND = 1, 2, 4


def frame(body: bytes, flags: int = 0) -> bytes:
    """One encoded frame."""
    if len(body) < 256:
        return bytes([flags, len(body)]) + body
    return bytes([flags | LONG]) + len(body).to_bytes(8, "big") + body


class RawPeer:
    """A TCP connection that has completed the handshake as a socket of `kind`, without security."""

    def __init__(self, endpoint: str, kind: str, *, receive_buffer: int | None = None) -> None:
        self.socket = socket.socket()
        if receive_buffer is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(60.0)
        try:
            self._shake_hands(endpoint, kind)
        except BaseException:
            self.socket.close()
            raise

    def _shake_hands(self, endpoint: str, kind: str) -> None:
        self.socket.connect(address_of(endpoint))
        name, value = b"Socket-Type", kind.encode()
        ready = b"\x05READY" + bytes([len(name)]) + name + len(value).to_bytes(4, "big") + value
        self.socket.sendall(GREETING + frame(ready, COMMAND))
        received = b""
        while len(received) < 64 + 2 or len(received) < 66 + received[65]:
            part = self.socket.recv(4096)
            if not part:
                raise ConnectionError("the router does not shake hands")
            received += part

    def send(self, content: bytes) -> None:
        """Send raw bytes; a peer that hangs up is not a failure here."""
        with contextlib.suppress(OSError):
            self.socket.sendall(content)

    def subscribe(self, topic: bytes) -> None:
        self.send(frame(b"\1" + topic))

    def is_closed(self, timeout_s: float = 60.0) -> bool:
        """True if the other side closes the connection in time."""
        self.socket.settimeout(timeout_s)
        try:
            while self.socket.recv(65536):
                pass
        except TimeoutError:
            return False
        except OSError:
            return True
        return True

    def close(self) -> None:
        self.socket.close()

    def reset(self) -> None:
        """Close with RST, like a process that is killed with unread bytes."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()


def address_of(endpoint: str) -> tuple[str, int]:
    parts = urlsplit(endpoint)
    assert parts.hostname is not None
    assert parts.port is not None
    return parts.hostname, parts.port

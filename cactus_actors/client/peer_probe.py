"""Who answers at an endpoint where no ZeroMQ connection comes about: looked at once, without ZeroMQ."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Literal
from urllib.parse import urlsplit

LOOK_S = 1.0
# ZMTP 3.1 (RFC 37): the signature and the version; what follows would name a mechanism, which may be refused
_GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x01"
_GREETING_BYTES = 64
_MECHANISM = slice(12, 32)
_TLS_ALERT = b"\x15\x03"

Peer = Literal["http", "curve", "other"]
"""An HTTP server, a ZeroMQ socket that asks for keys, or anything else, silence included."""


class Handshakes:
    """Counts connections that ended before their handshake did, one after another. No I/O."""

    def __init__(self) -> None:
        self.num_broken = 0
        self._is_open = False

    def on_connected(self) -> None:
        """TCP is connected; the handshake begins."""
        self._is_open = True

    def on_succeeded(self) -> None:
        """The peer is who it should be."""
        self._is_open = False
        self.num_broken = 0

    def on_disconnected(self) -> bool:
        """The connection has ended; whether that was before its handshake."""
        was_open, self._is_open = self._is_open, False
        self.num_broken += was_open
        return was_open


async def look(endpoint: str) -> Peer:
    """Begin a greeting of ZeroMQ's at tcp://HOST:PORT and read what comes back."""
    url = urlsplit(endpoint)
    if url.scheme != "tcp" or url.hostname is None or url.port is None:
        return "other"
    answer = b""
    with contextlib.suppress(OSError, TimeoutError):
        async with asyncio.timeout(LOOK_S):
            reader, writer = await asyncio.open_connection(url.hostname, url.port)
            try:
                writer.write(_GREETING)
                while len(answer) < _GREETING_BYTES and (piece := await reader.read(_GREETING_BYTES)):
                    answer += piece
            finally:
                writer.close()
    if answer.startswith((b"HTTP/", _TLS_ALERT)):
        return "http"
    is_curve = answer[:1] == b"\xff" and answer[_MECHANISM].rstrip(b"\0") == b"CURVE"
    return "curve" if is_curve else "other"

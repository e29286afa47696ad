"""Identifies the peer at an endpoint where ZeroMQ handshakes fail, over plain TCP."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Literal
from urllib.parse import urlsplit

PROBE_TIMEOUT_S = 1.0
# ZMTP 3.1 (RFC 37): signature and version; the mechanism that would follow may be refused
_GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x01"
_GREETING_BYTES = 64
_MECHANISM = slice(12, 32)
_TLS_ALERT = b"\x15\x03"

Peer = Literal["http", "curve", "other"]
"""An HTTP server, a ZeroMQ socket that requires CURVE keys, or anything else, silence included."""


class Handshakes:
    """Counts consecutive connections that ended before their handshake. No I/O."""

    def __init__(self) -> None:
        self.num_broken = 0
        self._is_open = False

    def on_connected(self) -> None:
        """TCP is connected; the handshake starts."""
        self._is_open = True

    def on_succeeded(self) -> None:
        self._is_open = False
        self.num_broken = 0

    def on_disconnected(self) -> bool:
        """Record that the connection has ended; returns True if that was before its handshake."""
        was_open, self._is_open = self._is_open, False
        self.num_broken += was_open
        return was_open


async def identify_peer(endpoint: str) -> Peer:
    """Send the start of a ZMTP greeting to tcp://HOST:PORT and classify the reply."""
    url = urlsplit(endpoint)
    if url.scheme != "tcp" or url.hostname is None or url.port is None:
        return "other"
    answer = b""
    with contextlib.suppress(OSError, TimeoutError):
        async with asyncio.timeout(PROBE_TIMEOUT_S):
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

"""Uvicorn's HTTP connection, with bounds on what a request may be before it is one."""

from __future__ import annotations

import asyncio
from typing import Any

from litestar.types import Scope
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEADERS_TIMEOUT_S = 15.0
MAX_HEADERS = 100
MAX_HEADER_BYTES = 32 * 1024
_ABORT = "cactus.abort"


class BoundedProtocol(HttpToolsProtocol):
    """A connection whose request line and headers must come soon and be few."""

    _num_header_bytes = 0
    _is_refused = False
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._await_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_awaiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if not self._is_refused:
            super().data_received(data)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._num_header_bytes = 0
        self._await_headers()

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        self._count(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        super().on_header(name, value)
        self._count(len(name) + len(value))

    def on_headers_complete(self) -> None:
        self._stop_awaiting()
        if self._is_refused:
            return
        self.scope.setdefault("extensions", {})[_ABORT] = {"abort": self.transport.abort}
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        if not self._is_refused:
            super().on_body(body)

    def on_message_complete(self) -> None:
        if not self._is_refused:
            super().on_message_complete()

    def _await_headers(self) -> None:
        self._stop_awaiting()
        self._timer = self.loop.call_later(HEADERS_TIMEOUT_S, self._refuse, b"408 Request Timeout")

    def _stop_awaiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _count(self, num_bytes: int) -> None:
        self._num_header_bytes += num_bytes
        if self._num_header_bytes > MAX_HEADER_BYTES or len(self.headers) > MAX_HEADERS:
            self._refuse(b"431 Request Header Fields Too Large")

    def _refuse(self, status: bytes) -> None:
        if self._is_refused or self.transport.is_closing():
            return
        self._is_refused = True
        self._stop_awaiting()
        answer = b"HTTP/1.1 " + status + b"\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        self.transport.write(answer)
        self.transport.close()


def abort(scope: Scope) -> None:
    """Drop the connection of a request at once, with whatever is unsent."""
    extensions: dict[str, Any] = scope.get("extensions") or {}
    if _ABORT in extensions:
        extensions[_ABORT]["abort"]()

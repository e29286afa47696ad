"""Uvicorn's HTTP connection, with bounds on the size of a request and on the time of a reader."""

from __future__ import annotations

import asyncio
import socket
import struct
from typing import Any

from litestar.types import Scope
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from cactus_actors.gateway.http.timeouts import DEFAULT_TIMEOUTS, GatewayTimeouts

MAX_HEADERS = 100
MAX_HEADER_BYTES = 32 * 1024
PARSED_BYTES = 8 * 1024
MAX_CHUNK_FRAMING = 32
"""Bytes around the content of a chunk: its length in hexadecimal digits, and line ends."""
MAX_FRAMING_BYTES = MAX_HEADER_BYTES
"""The most bytes of a body that may be chunk extensions or trailer fields."""
_CONNECTION = "cactus.connection"
_NO_LINGERING = struct.pack("ii", 1, 0)


class BoundedProtocol(HttpToolsProtocol):
    """A connection with limits on the size and arrival time of request line and headers.

    Malformed input is refused after the responses to all earlier requests, and nothing after it is read.
    A response to an incomplete request ends the connection: its rest is dropped for `linger_s`,
    so that a client that is still sending receives the response. A client that leaves the send buffer
    full for `reader_s` is disconnected.
    """

    timeouts = DEFAULT_TIMEOUTS
    _num_header_bytes = 0
    _num_framing_bytes = 0
    _num_accounted_bytes = 0  # of bodies: content, and what its framing usually takes
    _num_unanswered = 0  # requests whose headers are complete
    _is_in_message = False
    _has_headers = False
    _ignores_input = False  # nothing more is read
    _refusal: bytes | None = None  # the request that the refusal answers, after all earlier ones
    _headers_timer: asyncio.TimerHandle | None = None
    _end_timer: asyncio.TimerHandle | None = None
    _reader_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._await_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self._headers_timer, self._end_timer, self._reader_timer):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        for start in range(0, len(data), PARSED_BYTES):
            if self._ignores_input:
                return
            part = data[start : start + PARSED_BYTES]
            was_in_body, num_before = self._is_in_body, self._num_accounted_bytes
            super().data_received(part)
            if was_in_body and self._is_in_body:
                self._count_framing(len(part) - (self._num_accounted_bytes - num_before))
        if not (self._is_in_message or self._num_unanswered or self._headers_timer):
            self._await_headers()  # line ends between two requests are no request, and no reason to stay

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002
        self._refuse(b"400 Bad Request")

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._is_in_message, self._has_headers = True, False
        self._num_header_bytes = self._num_framing_bytes = 0
        self._await_headers()

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        self._count(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count(len(name) + len(value))
        self._num_accounted_bytes += len(name) + len(value) + MAX_CHUNK_FRAMING
        if not self._has_headers:  # trailer fields do not count as headers
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._stop_awaiting()
        if self._ignores_input:
            return
        super().on_headers_complete()
        self._has_headers = True
        self._num_unanswered += 1
        self.cycle.transport = _ResponseTransport(self)
        connection: dict[object, object] = {"abort": self.transport.abort, "cycle": self.cycle}
        self.cycle.scope.setdefault("extensions", {})[_CONNECTION] = connection
        if self.parser.should_upgrade():  # nothing after it is read
            self.cycle.keep_alive = False

    def on_chunk_header(self) -> None:
        self._num_accounted_bytes += MAX_CHUNK_FRAMING

    def on_body(self, body: bytes) -> None:
        self._num_accounted_bytes += len(body)
        if not self._ignores_input:
            super().on_body(body)

    def on_message_complete(self) -> None:
        self._is_in_message = False
        if not self._ignores_input:
            super().on_message_complete()

    def on_response_complete(self) -> None:
        self._num_unanswered -= 1
        super().on_response_complete()
        if self.transport.is_closing() or self._end_timer is not None or self._num_unanswered:
            return
        if self._refusal is not None:
            self._write_refusal(self._refusal)

    def close(self) -> None:
        """Close after the last byte is sent, but not while the peer still sends: a reset would lose the response."""
        if self._is_in_message:
            self._end()
        else:
            self.transport.close()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._reader_timer = self.loop.call_later(self.timeouts.reader_s, self._drop_reader)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._reader_timer is not None:
            self._reader_timer.cancel()

    def _drop_reader(self) -> None:
        """Drop the connection with the kernel's send buffer."""
        self.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGERING)
        self.transport.abort()

    def _await_headers(self) -> None:
        self._stop_awaiting()
        self._headers_timer = self.loop.call_later(self.timeouts.headers_s, self._on_no_headers)

    def _on_no_headers(self) -> None:
        if self._is_in_message:
            self._refuse(b"408 Request Timeout")
        else:
            self.transport.close()

    def _stop_awaiting(self) -> None:
        if self._headers_timer is not None:
            self._headers_timer.cancel()
            self._headers_timer = None

    @property
    def _is_in_body(self) -> bool:
        return self._is_in_message and self._has_headers

    def _count_framing(self, num_bytes: int) -> None:
        """Count bytes of a body that are neither content nor usual framing, such as chunk extensions."""
        self._num_framing_bytes = max(0, self._num_framing_bytes + num_bytes)
        if self._num_framing_bytes > MAX_FRAMING_BYTES:
            self._refuse(b"431 Request Header Fields Too Large")

    def _count(self, num_bytes: int) -> None:
        self._num_header_bytes += num_bytes
        if self._num_header_bytes > MAX_HEADER_BYTES or len(self.headers) > MAX_HEADERS:
            self._refuse(b"431 Request Header Fields Too Large")

    def _refuse(self, status: bytes) -> None:
        """Answer the message that is being read, or a missing one, with a status, and stop reading."""
        if self._ignores_input or self.transport.is_closing():
            return
        self._ignores_input = True
        self._stop_awaiting()
        is_being_answered = self._is_in_message and self._has_headers
        if self._num_unanswered > is_being_answered:  # earlier requests get their responses first
            if is_being_answered:
                self.pipeline.popleft()
                self._num_unanswered -= 1
            self._refusal = status
        elif is_being_answered and self.cycle.response_started:
            self.transport.abort()
        else:
            self._write_refusal(status)

    def _write_refusal(self, status: bytes) -> None:
        self.transport.write(b"HTTP/1.1 " + status + b"\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        self._end()

    def _end(self) -> None:
        """Shut down writing, and close when the peer has, or after `linger_s`."""
        if self._end_timer is not None:
            return
        self._ignores_input = True
        self._unset_keepalive_if_required()
        if self._num_unanswered:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
            self.cycle.scope["extensions"].pop(_CONNECTION)  # the refusal must be sent
        self.flow.resume_reading()
        if self.transport.can_write_eof():  # TLS has no half of a connection
            self.transport.write_eof()
        self._end_timer = self.loop.call_later(self.timeouts.linger_s, self.transport.abort)


def protocol_with(timeouts: GatewayTimeouts) -> type[BoundedProtocol]:
    """The protocol with these timeouts; uvicorn makes its instances."""
    return type("BoundedProtocol", (BoundedProtocol,), {"timeouts": timeouts})


class _ResponseTransport(asyncio.Transport):
    """The connection of one request's response."""

    def __init__(self, protocol: BoundedProtocol) -> None:
        self._protocol = protocol

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self._protocol.transport.write(data)

    def is_closing(self) -> bool:
        return self._protocol.transport.is_closing()

    def close(self) -> None:
        self._protocol.close()


def abort(scope: Scope) -> None:
    """Drop the connection of a request immediately, with unsent data."""
    if connection := _connection(scope):
        connection["abort"]()


def is_request_complete(scope: Scope) -> bool:
    """True if the whole request has arrived, so that its connection can serve another one."""
    connection = _connection(scope)
    return connection is None or not connection["cycle"].more_body


def _connection(scope: Scope) -> dict[str, Any] | None:
    extensions: dict[str, Any] = scope.get("extensions") or {}
    return extensions.get(_CONNECTION)

"""A decoder of server-sent events, without I/O: bytes in, data of complete events out."""

from __future__ import annotations

MAX_LINE_BYTES = 1024 * 1024


class LineTooLong(Exception):
    """A line, or the data of one event, exceeds MAX_LINE_BYTES."""


class SSEDecoder:
    """Splits a byte stream into events and returns their `data`; comments and other fields are ignored.

    Lines end with LF or CRLF. At most MAX_LINE_BYTES and one chunk are buffered.
    """

    def __init__(self) -> None:
        self._line = bytearray()
        self._data: list[bytes] = []
        self._data_bytes = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """The data of every event that `chunk` completes; raises LineTooLong."""
        events: list[bytes] = []
        *complete, rest = chunk.split(b"\n")
        for part in complete:
            self._extend(part)
            line = bytes(self._line).removesuffix(b"\r")
            self._line.clear()
            if line:
                self._keep(line)
            elif self._data:
                events.append(b"\n".join(self._data))
                self._data.clear()
                self._data_bytes = 0
        self._extend(rest)
        return events

    def end(self) -> list[bytes]:
        """The data of an event that the end of the stream completes; raises LineTooLong."""
        return self.feed(b"\n\n")

    def _extend(self, part: bytes) -> None:
        if len(self._line) + len(part) > MAX_LINE_BYTES:
            raise LineTooLong
        self._line += part

    def _keep(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        if name != b"data":
            return
        self._data_bytes += len(value)
        if self._data_bytes > MAX_LINE_BYTES:
            raise LineTooLong
        self._data.append(value.removeprefix(b" "))

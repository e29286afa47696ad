"""HTTP as bytes: requests that no client library would send, and all bytes of the responses."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager

JSON_TYPE = b"Content-Type: application/json\r\n"
PROMPT = b'{"prompt":"a"}'


@contextmanager
def connection(url: str, timeout_s: float = 60.0) -> Iterator[socket.socket]:
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=timeout_s) as opened:
        yield opened


def request(
    method: bytes = b"GET",
    target: bytes = b"/v1/models",
    *headers: bytes,
    host: bytes | None = b"localhost",
    key: str | None = None,
    version: bytes = b"HTTP/1.1",
) -> bytes:
    """A request head; `headers` are complete lines without line ends."""
    lines = [b" ".join((method, target, version))]
    if host is not None:
        lines.append(b"Host: " + host)
    if key is not None:
        lines.append(b"Authorization: Bearer " + key.encode())
    return b"\r\n".join([*lines, *headers, b"", b""])


def post(
    *headers: bytes,
    body: bytes = PROMPT,
    key: str | None = None,
    target: bytes = b"/v1/completions",
    has_length: bool = True,
) -> bytes:
    """A request with a JSON body."""
    more = [b"Content-Length: %d" % len(body)] if has_length else []
    typed = JSON_TYPE.removesuffix(b"\r\n")
    return request(b"POST", target, typed, *headers, *more, key=key) + body


def until_closed(opened: socket.socket) -> bytes:
    """Read until the other side closes; raises TimeoutError if it keeps the connection open."""
    return b"".join(iter(lambda: opened.recv(65536), b""))


def statuses(answers: bytes) -> list[int]:
    """The statuses of the responses, in order."""
    return [int(found) for found in re.findall(rb"HTTP/1\.1 (\d{3}) ", answers)]


def asked(url: str, data: bytes) -> list[int]:
    """Send, close the sending side, and return the statuses of the responses."""
    with connection(url) as opened:
        opened.sendall(data)
        received = b""
        while part := opened.recv(65536):
            received += part
            if _is_whole(received):
                break
        return statuses(received)


def _is_whole(received: bytes) -> bool:
    """True if the last response is complete."""
    *_, last = re.finditer(rb"HTTP/1\.1 \d{3} ", received)
    head, separator, body = received[last.start() :].partition(b"\r\n\r\n")
    if not separator:
        return False
    length = re.search(rb"content-length: (\d+)", head)
    return len(body) >= int(length[1]) if length else body.endswith(b"0\r\n\r\n")

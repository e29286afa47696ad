"""Keys, limits and bodies for malicious requests."""

from __future__ import annotations

import socket
import time

import pytest

ANN, BEN = "ann-0123456789abcdef", "ben-0123456789abcdef"
MAX_OPEN_BYTES = 6 * 1024 * 1024
MAX_BODY = 4 * 1024 * 1024
COMPLETIONS, CHAT = "/v1/completions", "/v1/chat/completions"
BEARER = {"authorization": f"Bearer {ANN}"}
CHUNKED = b"Transfer-Encoding: chunked"


def trickle(opened: socket.socket, part: bytes) -> None:
    """Send one part after the other until the service answers with a timeout error."""
    opened.settimeout(0.05)
    give_up_at = time.monotonic() + 60.0
    while time.monotonic() < give_up_at:
        try:
            assert opened.recv(4096).startswith(b"HTTP/1.1 408 ")
            return
        except TimeoutError:
            opened.sendall(part)
    pytest.fail("it waits for ever")


def takes(opened: socket.socket, data: bytes) -> bool:
    """True if the other side has not closed the connection yet."""
    time.sleep(0.01)
    try:
        opened.sendall(data)
    except OSError:
        return False
    return True

"""Finds the open TCP connections of ZeroMQ in this process, which ZeroMQ does not list."""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import stat
import sys
import termios
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import urlsplit

PROC_FD = Path("/proc/self/fd")
TCP_INFO_BYTES = 136
BYTES_ACKNOWLEDGED, BYTES_RECEIVED = slice(120, 128), slice(128, 136)
"""`tcpi_bytes_acked` and `tcpi_bytes_received` of Linux's `struct tcp_info`, in the machine's order."""


def ports_of(endpoints: Sequence[str]) -> frozenset[int]:
    """The ports of the TCP endpoints among these."""
    return frozenset(urlsplit(it).port or 0 for it in endpoints if it.startswith("tcp://"))


def connections_to(ports: frozenset[int]) -> Iterator[tuple[int, int]]:
    """Descriptor and inode of each open connection to those ports; none if the system does not list them."""
    try:
        descriptors = [int(path.name) for path in PROC_FD.iterdir()]
    except OSError:
        return
    for descriptor in descriptors:
        with contextlib.suppress(OSError):  # it has just been closed
            status = os.fstat(descriptor)
            if stat.S_ISSOCK(status.st_mode) and is_connection_to(ports, descriptor):
                yield descriptor, status.st_ino


def is_connection_to(ports: frozenset[int], descriptor: int) -> bool:
    """True if a socket is a connection to one of these ports; raises OSError for one that is not connected."""
    with borrowed(descriptor) as connection:
        address = connection.getsockname()
        if not isinstance(address, tuple) or address[1] not in ports:
            return False
        connection.getpeername()  # a listening socket has no peer, and raises
        return True


def progress_of(descriptor: int) -> tuple[int, int]:
    """Bytes of a TCP connection that were read here, and that the peer acknowledged; 0 if the system does not say."""
    with borrowed(descriptor) as connection:
        try:
            info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, TCP_INFO_BYTES)
        except (OSError, AttributeError):
            return 0, 0
    if len(info) < TCP_INFO_BYTES:
        return 0, 0
    unread = bytearray(4)
    fcntl.ioctl(descriptor, termios.FIONREAD, unread)
    received = int.from_bytes(info[BYTES_RECEIVED], sys.byteorder) - int.from_bytes(unread, sys.byteorder)
    return received, int.from_bytes(info[BYTES_ACKNOWLEDGED], sys.byteorder)


@contextlib.contextmanager
def borrowed(descriptor: int) -> Iterator[socket.socket]:
    """A socket object for a descriptor that ZeroMQ owns; a duplicate might need a descriptor that is not left."""
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 0, fileno=descriptor)
    try:
        yield found
    finally:
        found.detach()

"""The open connections behind the router's sockets, by the key that each has proved."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass

import zmq


@dataclass(frozen=True, slots=True)
class Connection:
    """One connection to the socket of that domain; `identity` is its peer's on a ROUTER, else empty.

    A descriptor's number may be given to another connection later; `inode` is this one's alone.
    """

    domain: str
    public_key: str
    identity: bytes
    descriptor: int
    inode: int

    @property
    def name(self) -> tuple[int, int]:
        """Tells it from every other connection, open or not."""
        return self.descriptor, self.inode

    def cut(self) -> None:
        """End it, if it has not ended: ZeroMQ, which has no call for that, sees that its peer has left."""
        with contextlib.suppress(OSError):
            descriptor = os.dup(self.descriptor)  # from here on nobody can exchange what is behind it
            with socket.socket(fileno=descriptor) as connection:
                if os.fstat(descriptor).st_ino == self.inode:
                    connection.shutdown(socket.SHUT_RDWR)


def connection_of(domain: str, public_key: str, identity: bytes, frame: zmq.Frame) -> Connection | None:
    """What a frame came over; None if that has ended meanwhile."""
    try:
        descriptor = int(frame.get(zmq.SRCFD))
        inode = os.fstat(descriptor).st_ino
    except (zmq.ZMQError, OSError):
        return None
    return Connection(domain, public_key, identity, descriptor, inode)


class Connections:
    """Those that a message came over; there are never more than descriptors."""

    def __init__(self) -> None:
        self._by_descriptor: dict[int, Connection] = {}

    def note(self, domain: str, public_key: str, identity: bytes, frame: zmq.Frame) -> Connection | None:
        """A message with that last frame came from the owner of the key; over what, if that has not ended."""
        connection = connection_of(domain, public_key, identity, frame)
        if connection is not None:
            self._by_descriptor[connection.descriptor] = connection
        return connection

    def has_spoken(self, descriptor: int, inode: int) -> bool:
        """Whether a message came over that connection."""
        connection = self._by_descriptor.get(descriptor)
        return connection is not None and connection.inode == inode

    def take(self, public_key: str) -> Sequence[Connection]:
        """The connections of that key, which are then no longer held here."""
        found = [it for it in self._by_descriptor.values() if it.public_key == public_key]
        for connection in found:
            del self._by_descriptor[connection.descriptor]
        return found

"""The open connections of the router's sockets, by the key that each has proved."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass

import zmq

MAX_CLOSED = 8192
ENCRYPTION_BYTES = 33
"""The bytes that encryption adds to a frame: a command's name, a nonce, a checksum and flags."""


@dataclass(frozen=True, slots=True)
class PeerConnection:
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
        """Unique among all connections, open or not."""
        return self.descriptor, self.inode

    def close(self) -> None:
        """Close the connection, if it is open."""
        close_connection(self.descriptor, self.inode)


def close_connection(descriptor: int, inode: int) -> None:
    """Shut a connection down: ZeroMQ, which has no call for that, sees that its peer has left, and closes it."""
    with contextlib.suppress(OSError):
        ours = os.dup(descriptor)  # from here on the descriptor cannot change its file
        with socket.socket(fileno=ours) as connection:
            if os.fstat(ours).st_ino == inode:
                connection.shutdown(socket.SHUT_RDWR)


class PeerConnections:
    """The connections that have sent a message; never more than descriptors."""

    def __init__(self) -> None:
        self._by_descriptor: dict[int, PeerConnection] = {}
        self._num_received: dict[int, int] = {}
        self._num_sent: dict[int, int] = {}
        self._descriptors: dict[bytes, int] = {}
        self._closed: set[tuple[int, int]] = set()
        self._checked: set[int] = set()

    def forget_checks(self) -> None:
        """Check descriptors again, which may be those of other connections by now; called several times a second.

        Asking the system at each message would take longer than reading the message.
        """
        self._checked.clear()

    def note(self, domain: str, public_key: str, identity: bytes, frames: Sequence[zmq.Frame]) -> PeerConnection | None:
        """Record frames from the owner of the key; returns the connection, None if it has ended."""
        try:
            descriptor = int(frames[-1].get(zmq.SRCFD))
            connection = self._by_descriptor.get(descriptor)
            if connection is None or connection.identity != identity or descriptor not in self._checked:
                inode = os.fstat(descriptor).st_ino
                self._checked.add(descriptor)
                if connection is None or connection.inode != inode or connection.identity != identity:
                    connection = PeerConnection(domain, public_key, identity, descriptor, inode)
                    if not self.has_sent(descriptor, inode):
                        self._begin(connection)
                    self._by_descriptor[descriptor] = connection
        except (zmq.ZMQError, OSError):
            return None
        self._num_received[descriptor] += _size_of(frames, is_encrypted=bool(public_key))
        return connection

    def close(self, name: tuple[int, int]) -> bool:
        """Close a connection; False if it was closed before, and ZeroMQ has not noticed yet."""
        if name in self._closed:
            return False
        if len(self._closed) >= MAX_CLOSED:
            self._closed.clear()
        self._closed.add(name)
        close_connection(*name)
        return True

    def is_closed(self, connection: PeerConnection | None) -> bool:
        """True if a connection was closed, so that its messages are ignored."""
        return connection is not None and connection.name in self._closed

    def may_send(self, identity: bytes) -> bool:
        """True if a message to that peer may arrive."""
        descriptor = self._descriptors.get(identity)
        return descriptor is None or self._by_descriptor[descriptor].name not in self._closed

    def on_sent(self, identity: bytes, frames: Sequence[bytes]) -> None:
        """Record that these frames were sent to the peer of that identity."""
        descriptor = self._descriptors.get(identity)
        if descriptor is not None:
            is_encrypted = bool(self._by_descriptor[descriptor].public_key)
            self._num_sent[descriptor] += _size_of(frames, is_encrypted=is_encrypted)

    def num_bytes_of(self, name: tuple[int, int]) -> tuple[int, int]:
        """The bytes on the wire of the messages read from a connection, and of those sent to it."""
        if not self.has_sent(*name):
            return 0, 0
        return self._num_received[name[0]], self._num_sent[name[0]]

    def has_sent(self, descriptor: int, inode: int) -> bool:
        """True if that connection has sent a message."""
        connection = self._by_descriptor.get(descriptor)
        return connection is not None and connection.inode == inode

    def of(self, domain: str) -> Sequence[PeerConnection]:
        """The connections to the socket of that domain."""
        return [it for it in self._by_descriptor.values() if it.domain == domain]

    def take(self, public_key: str) -> Sequence[PeerConnection]:
        """Remove and return the connections of that key."""
        found = [it for it in self._by_descriptor.values() if it.public_key == public_key]
        for connection in found:
            del self._by_descriptor[connection.descriptor]
            self._descriptors.pop(connection.identity, None)
        return found

    def _begin(self, connection: PeerConnection) -> None:
        """Begin to count a connection's bytes; the former connection of its descriptor has ended."""
        descriptor = connection.descriptor
        before = self._by_descriptor.get(descriptor)
        if before is not None and self._descriptors.get(before.identity) == descriptor:
            del self._descriptors[before.identity]
        self._num_received[descriptor] = self._num_sent[descriptor] = 0
        if connection.identity:
            self._descriptors[connection.identity] = descriptor


def _size_of(frames: Sequence[zmq.Frame | bytes], *, is_encrypted: bool) -> int:
    """Bytes of a message on the wire (RFC 23, RFC 26)."""
    lengths = [len(frame) + (ENCRYPTION_BYTES if is_encrypted else 0) for frame in frames]
    return sum(length + (2 if length < 256 else 9) for length in lengths)

"""The open connections behind the router's sockets, by the key that each has proved."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass

import zmq

MAX_CUT = 8192
ENCRYPTION_BYTES = 33
"""A command's name, a nonce, a sum and flags."""


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
        """Tells it from every other connection, open or not."""
        return self.descriptor, self.inode

    def cut(self) -> None:
        """End it, if it has not ended."""
        cut(self.descriptor, self.inode)


def cut(descriptor: int, inode: int) -> None:
    """End a connection: ZeroMQ, which has no call for that, sees that its peer has left."""
    with contextlib.suppress(OSError):
        ours = os.dup(descriptor)  # from here on nobody can exchange what is behind it
        with socket.socket(fileno=ours) as connection:
            if os.fstat(ours).st_ino == inode:
                connection.shutdown(socket.SHUT_RDWR)


class PeerConnections:
    """Those that a message came over; there are never more than descriptors."""

    def __init__(self) -> None:
        self._by_descriptor: dict[int, PeerConnection] = {}
        self._num_heard: dict[int, int] = {}
        self._num_said: dict[int, int] = {}
        self._descriptors: dict[bytes, int] = {}
        self._cut: set[tuple[int, int]] = set()
        self._looked_at: set[int] = set()

    def look_again(self) -> None:
        """Descriptors may stand for other connections by now; to be called several times a second.

        Asking the system at each message would take longer than reading it.
        """
        self._looked_at.clear()

    def note(self, domain: str, public_key: str, identity: bytes, frames: Sequence[zmq.Frame]) -> PeerConnection | None:
        """These frames came from the owner of the key; over what, if that has not ended."""
        try:
            descriptor = int(frames[-1].get(zmq.SRCFD))
            connection = self._by_descriptor.get(descriptor)
            if connection is None or connection.identity != identity or descriptor not in self._looked_at:
                inode = os.fstat(descriptor).st_ino
                self._looked_at.add(descriptor)
                if connection is None or connection.inode != inode or connection.identity != identity:
                    connection = PeerConnection(domain, public_key, identity, descriptor, inode)
                    if not self.has_spoken(descriptor, inode):
                        self._begin(connection)
                    self._by_descriptor[descriptor] = connection
        except (zmq.ZMQError, OSError):
            return None
        self._num_heard[descriptor] += _size_of(frames, is_encrypted=bool(public_key))
        return connection

    def cut(self, name: tuple[int, int]) -> bool:
        """End a connection; False if that was done before, and ZeroMQ has not noticed yet."""
        if name in self._cut:
            return False
        if len(self._cut) >= MAX_CUT:
            self._cut.clear()
        self._cut.add(name)
        cut(*name)
        return True

    def is_cut(self, connection: PeerConnection | None) -> bool:
        """Whether nothing that comes over it counts any more."""
        return connection is not None and connection.name in self._cut

    def may_send(self, identity: bytes) -> bool:
        """Whether what is sent to that peer may arrive."""
        descriptor = self._descriptors.get(identity)
        return descriptor is None or self._by_descriptor[descriptor].name not in self._cut

    def on_sent(self, identity: bytes, frames: Sequence[bytes]) -> None:
        """These frames were sent to the peer of that identity."""
        descriptor = self._descriptors.get(identity)
        if descriptor is not None:
            is_encrypted = bool(self._by_descriptor[descriptor].public_key)
            self._num_said[descriptor] += _size_of(frames, is_encrypted=is_encrypted)

    def num_bytes_of(self, name: tuple[int, int]) -> tuple[int, int]:
        """What the messages that were read of a connection took on the wire, and those sent to it."""
        if not self.has_spoken(*name):
            return 0, 0
        return self._num_heard[name[0]], self._num_said[name[0]]

    def has_spoken(self, descriptor: int, inode: int) -> bool:
        """Whether a message came over that connection."""
        connection = self._by_descriptor.get(descriptor)
        return connection is not None and connection.inode == inode

    def of(self, domain: str) -> Sequence[PeerConnection]:
        """Those to the socket of that domain."""
        return [it for it in self._by_descriptor.values() if it.domain == domain]

    def take(self, public_key: str) -> Sequence[PeerConnection]:
        """The connections of that key, which are then no longer held here."""
        found = [it for it in self._by_descriptor.values() if it.public_key == public_key]
        for connection in found:
            del self._by_descriptor[connection.descriptor]
            self._descriptors.pop(connection.identity, None)
        return found

    def _begin(self, connection: PeerConnection) -> None:
        """Count what a connection says; the one that had its descriptor has ended."""
        descriptor = connection.descriptor
        before = self._by_descriptor.get(descriptor)
        if before is not None and self._descriptors.get(before.identity) == descriptor:
            del self._descriptors[before.identity]
        self._num_heard[descriptor] = self._num_said[descriptor] = 0
        if connection.identity:
            self._descriptors[connection.identity] = descriptor


def _size_of(frames: Sequence[zmq.Frame | bytes], *, is_encrypted: bool) -> int:
    """Bytes of a message on the wire (RFC 23, RFC 26)."""
    lengths = [len(frame) + (ENCRYPTION_BYTES if is_encrypted else 0) for frame in frames]
    return sum(length + (2 if length < 256 else 9) for length in lengths)

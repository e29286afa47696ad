"""Admits connections to the router's sockets, and finds the sender of each message."""

from __future__ import annotations

import abc
import logging
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import zmq
from zmq.utils import z85

from cactus_actors.process.throttled_log import ThrottledLog
from cactus_actors.protocol.wire import JOB_ID_LENGTH
from cactus_actors.router.auth.accepted_keys import ROLES, AcceptedKeys
from cactus_actors.router.auth.bound_sockets import MAX_ENCRYPTED_FRAME
from cactus_actors.router.auth.peer_connections import PeerConnection, PeerConnections
from cactus_actors.router.auth.rate_limiter import RateLimiter
from cactus_actors.router.state.caller import ANONYMOUS, Caller, RevokedKey, anonymous_connection

ZAP_ENDPOINT = "inproc://zeromq.zap.01"
ZAP_VERSION = b"1.0"
MAX_HANDSHAKES = 64
"""Handshakes answered in one turn of the router's loop."""
BAD_TOPIC_COST = 32.0
CLOSE_DELAY_S = 0.5
"""The time that a client whose key was revoked has to read the reason."""
FAILED_HANDSHAKES = zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL | zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL
"""Handshakes that ended before a key was shown; the event depends on the side that closes first."""

_log = ThrottledLog(logging.getLogger(__name__))

Socket = zmq.Socket[bytes]
Received = tuple[Caller | None, list[bytes]]
"""A message and its sender; None if the sender's key is not accepted, or the sender has left."""
Admits = Callable[[Caller | None, Sequence[zmq.Frame]], bool]
"""True if a message of that caller is to be read; called before its frames are copied."""


def admit_all(_caller: Caller | None, _frames: Sequence[zmq.Frame]) -> bool:
    return True


class Authenticator(abc.ABC):
    """Admits connections to the sockets of one process, and finds the sender of each message.

    It belongs to the thread that the sockets belong to. `connections` are those that have sent a message.
    Refusals are counted in `refused`, by reason.
    """

    def __init__(self, refused: Counter[str]) -> None:
        self.connections = PeerConnections()
        self._refused = refused
        self._domains: dict[Socket, str] = {}
        self._rate_limiter = RateLimiter(refused)

    @property
    def sources(self) -> Sequence[Socket]:
        """Sockets to poll in addition to the guarded ones; call `process_events` when one is readable."""
        return ()

    def guard(self, socket: Socket, domain: str) -> None:
        """Take charge of a socket that is not bound yet."""
        self._domains[socket] = domain

    def process_events(self) -> Sequence[RevokedKey]:
        """Decide on waiting connections, and close those whose key was revoked.

        The caller must end the subscriptions and requests of the returned connections.
        """
        self.connections.forget_checks()
        return ()

    def received(self, socket: Socket, limit: int) -> Iterator[Received]:
        """The messages that are there already, at most `limit`."""
        for caller, frames in self.received_frames(socket, limit):
            yield caller, [frame.bytes for frame in frames]

    def received_frames(
        self, socket: Socket, limit: int, admits: Admits = admit_all
    ) -> Iterator[tuple[Caller | None, list[zmq.Frame]]]:
        """The messages that are there already, at most `limit`, without those that are not admitted; not copied."""
        for frames in _waiting(lambda: _message(socket), limit):
            caller, connection = self._caller(socket, frames)
            if self.connections.is_closed(connection) or _exceeds_rate(self._rate_limiter, caller, connection, frames):
                continue
            if admits(caller, frames):
                yield caller, frames

    def close(self) -> None:
        """Close the sockets that it opened."""
        for source in self.sources:
            source.close()

    @abc.abstractmethod
    def close_listeners(self, tenant: str) -> None:
        """Close all connections of a tenant to the stream socket, immediately."""

    @abc.abstractmethod
    def _caller(self, socket: Socket, frames: Sequence[zmq.Frame]) -> tuple[Caller | None, PeerConnection | None]:
        """The sender of a message, and its connection."""


class OpenAuthenticator(Authenticator):
    """Accepts all peers that can reach the sockets, and closes connections that flood them."""

    def close_listeners(self, tenant: str) -> None:
        pass  # there is one tenant

    def _caller(self, socket: Socket, frames: Sequence[zmq.Frame]) -> tuple[Caller | None, PeerConnection | None]:
        domain = self._domains[socket]
        identity, sent = _of_peer(socket, frames)
        connection = self.connections.note(domain, "", identity, sent)
        if domain != "stream":
            return ANONYMOUS, connection
        if connection is None:  # it has ended
            return None, None
        return anonymous_connection(connection.descriptor, connection.inode), connection


class CurveAuthenticator(Authenticator):
    """Reads messages only from peers that prove, by CURVE, a key accepted for the socket.

    It answers ZeroMQ's authentication requests (ZAP, RFC 27) in the router's own loop.
    """

    def __init__(self, context: zmq.Context[Socket], keys: AcceptedKeys, refused: Counter[str]) -> None:
        super().__init__(refused)
        self._context = context
        self._keys = keys
        self._closing: list[tuple[float, PeerConnection]] = []
        self._monitored: list[Socket] = []
        self._monitors: list[Socket] = []
        self._requests = context.socket(zmq.REP)
        self._requests.setsockopt(zmq.LINGER, 0)
        self._requests.bind(ZAP_ENDPOINT)

    @property
    def sources(self) -> Sequence[Socket]:
        return (self._requests, *self._monitors)

    def guard(self, socket: Socket, domain: str) -> None:
        socket.setsockopt(zmq.CURVE_SERVER, 1)
        socket.setsockopt(zmq.CURVE_SECRETKEY, self._keys.server_pair.reveal().encode())
        socket.setsockopt_string(zmq.ZAP_DOMAIN, domain)
        if domain == "stream":
            socket.setsockopt(zmq.MAXMSGSIZE, MAX_ENCRYPTED_FRAME)
        super().guard(socket, domain)
        endpoint = f"inproc://failed-handshakes-{domain}"
        socket.monitor(endpoint, FAILED_HANDSHAKES)
        monitor = self._context.socket(zmq.PAIR)
        monitor.setsockopt(zmq.LINGER, 0)
        monitor.setsockopt(zmq.RCVHWM, 0)  # a full one would block ZeroMQ's own thread
        monitor.connect(endpoint)
        self._monitored.append(socket)
        self._monitors.append(monitor)

    def process_events(self) -> Sequence[RevokedKey]:
        self.connections.forget_checks()
        for request in _waiting(lambda: self._requests.recv_multipart(zmq.NOBLOCK), MAX_HANDSHAKES):
            self._requests.send_multipart(self._answer(request))
        for monitor in self._monitors:
            for frames in _waiting(lambda it=monitor: it.recv_multipart(zmq.NOBLOCK), MAX_HANDSHAKES):
                if int.from_bytes(frames[0][:2], sys.byteorder) & FAILED_HANDSHAKES:
                    self._refused["handshake"] += 1
        now = time.monotonic()
        while self._closing and self._closing[0][0] <= now:
            self._closing.pop(0)[1].close()
        return [
            self._close_all(public_key, caller, now)
            for public_key, caller in self._keys.take_revoked(now)
            if any(caller.role in ROLES[domain] for domain in self._domains.values())
        ]

    def close_listeners(self, tenant: str) -> None:
        now = time.monotonic()
        for connection in self.connections.of("stream"):
            caller = self._keys.of(connection.public_key, now)
            if caller is None or caller.tenant == tenant:
                self.connections.close(connection.name)

    def close(self) -> None:
        for socket in self._monitored:
            socket.disable_monitor()
        super().close()

    def _caller(self, socket: Socket, frames: Sequence[zmq.Frame]) -> tuple[Caller | None, PeerConnection | None]:
        try:
            public_key = str(frames[-1].get("User-Id"))
        except zmq.ZMQError:  # ZeroMQ made the message itself: an unsubscription of a connection that ended
            return None, None
        caller = self._keys.of(public_key, time.monotonic())
        if caller is None:
            return None, None
        identity, sent = _of_peer(socket, frames)
        return caller, self.connections.note(self._domains[socket], public_key, identity, sent)

    def _close_all(self, public_key: str, caller: Caller, now: float) -> RevokedKey:
        """Close the connections of a key; those of clients after CLOSE_DELAY_S, so that they can read the reason."""
        identities: dict[str, set[bytes]] = {domain: set() for domain in ROLES}
        for connection in self.connections.take(public_key):
            identities[connection.domain].add(connection.identity)
            if connection.domain == "jobs":
                self._closing.append((now + CLOSE_DELAY_S, connection))
            else:
                connection.close()
        is_last = not self._keys.has_keys(caller.tenant)
        return RevokedKey(caller, is_last, frozenset(identities["jobs"]), frozenset(identities["workers"]))

    def _answer(self, request: list[bytes]) -> list[bytes]:
        """The reply to one ZAP request; the user id of an accepted connection is its public key."""
        request_id = request[1] if len(request) > 1 else b""
        match request:
            case [version, _, domain, address, _, b"CURVE", key] if version == ZAP_VERSION:
                public_key = z85.encode(key).decode()
                reason = self._keys.refusal(public_key, domain.decode(), time.monotonic())
                if reason is None:
                    return [ZAP_VERSION, request_id, b"200", b"OK", public_key.encode(), b""]
                self._refuse(reason, domain, address)
            case _:
                self._refused["handshake"] += 1
        return [ZAP_VERSION, request_id, b"400", b"refused", b"", b""]

    def _refuse(self, reason: str, domain: bytes, address: bytes) -> None:
        self._refused[reason] += 1
        _log.warning("a connection from %s to %s was refused: %s", address.decode(), domain.decode(), reason)


def _exceeds_rate(
    rate_limiter: RateLimiter, caller: Caller | None, connection: PeerConnection | None, frames: Sequence[zmq.Frame]
) -> bool:
    """Count a message; True if its connection was closed for this or an earlier one."""
    if connection is None or connection.domain != "stream":
        return rate_limiter.is_stopped(connection)
    # A topic that is not a job id costs more: ZeroMQ takes memory for each of its bytes.
    subscription = frames[-1].bytes
    cost = 1.0 if len(subscription) == 1 + JOB_ID_LENGTH else BAD_TOPIC_COST
    if rate_limiter.is_stopped(connection, cost):
        return True
    max_topics = 0 if caller is None else caller.max_topics
    return rate_limiter.exceeds_subscriptions(connection, subscription[:1] == b"\1", max_topics)


def _of_peer(socket: Socket, frames: Sequence[zmq.Frame]) -> tuple[bytes, Sequence[zmq.Frame]]:
    """The identity that a ROUTER socket puts in front, else an empty one, and the frames that the peer sent."""
    return (frames[0].bytes, frames[1:]) if socket.type == zmq.ROUTER else (b"", frames)


def _message(socket: Socket) -> list[zmq.Frame]:
    """The frames of the next message, with their sender's user id; raises zmq.Again if there is none."""
    frames = [socket.recv(zmq.NOBLOCK, copy=False)]
    while frames[-1].more:
        frames.append(socket.recv(zmq.NOBLOCK, copy=False))
    return frames


def _waiting(receive: Any, limit: int) -> Iterator[Any]:
    for _ in range(limit):
        try:
            yield receive()
        except zmq.Again:
            return

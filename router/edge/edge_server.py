"""Serves the sockets of clients: passes their messages to the router, and the router's messages to them."""

from __future__ import annotations

import math
import time
from collections import Counter, deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import zmq
import zmq.backend

from cactus_actors.keys.key_store import KeyStore
from cactus_actors.protocol.errors import CactusError, Overloaded
from cactus_actors.protocol.messages import Rejected
from cactus_actors.protocol.wire import answer_encoding_of, check_sizes, encode, is_job_id, job_id_within
from cactus_actors.router.auth.accepted_keys import AcceptedKeys
from cactus_actors.router.auth.authenticator import Authenticator, CurveAuthenticator, OpenAuthenticator
from cactus_actors.router.auth.bound_sockets import bind, jobs_socket, send_to_peer, stream_socket
from cactus_actors.router.auth.fd_pressure import FdPressure
from cactus_actors.router.auth.large_messages import LARGE_BYTES, LargeMessageRates
from cactus_actors.router.auth.unfinished_messages import CHECK_S, UnfinishedMessages
from cactus_actors.router.edge.edge_link import READABLE, EdgeLink
from cactus_actors.router.edge.edge_messages import (
    BadTopic,
    BindSockets,
    ClientReply,
    ClientRequest,
    Close,
    Heartbeat,
    JobOwner,
    Publications,
    Refusals,
    RequestsTaken,
    Revocation,
    SocketsBound,
    Subscription,
    ToEdge,
    Unsubscription,
)
from cactus_actors.router.process.memory_limit import MemoryLimitWatch
from cactus_actors.router.process.source_poller import SourcePoller
from cactus_actors.router.state.caller import REVOKED_CALLER, Caller, requester_of
from cactus_actors.router.state.topics import Topics

TICK_S, EARLY_S = 0.1, 0.04
"""Seconds between two ticks, and how much earlier one may be that needs no turn of the loop of its own."""
COMPANY_S = 0.002
"""Seconds for which the news of a subscription wait for the request that follows it, to wake the router once."""
ALIVE_S = 1.0
MAX_SUBSCRIPTIONS = 1024
"""Subscriptions that are taken in one turn of the loop."""
MORE, LAST = int(zmq.NOBLOCK | zmq.SNDMORE), int(zmq.NOBLOCK)
MAX_REQUESTS_AHEAD = 64
"""Requests that the router has not handled yet: more wait at their senders, whom ZeroMQ serves in turn."""
MAX_BYTES_AHEAD = 16 * 1024 * 1024
"""Bytes of such requests above which a large one is refused: it would take memory while it waits unread."""
MAX_PICTURE_BYTES_AHEAD = 64 * 1024 * 1024
"""The same for frames with pictures, which the router does not decode."""
BUSY_DELAY_S = 1.0
"""Seconds after which a large message that was refused for that may come again."""


class EdgeServer:
    """Owns the jobs and the stream socket; decides who may connect and subscribe, and closes connections that flood.

    Raises ConfigurationInvalid for keys that cannot be read.
    """

    def __init__(self, link: EdgeLink[ToEdge], bind_request: BindSockets) -> None:
        self._link = link
        self._bind_request = bind_request
        self._refused: Counter[str] = Counter()
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._authenticator = self._make_authenticator()
        self._jobs = jobs_socket(self._context)
        self._stream = stream_socket(self._context, bind_request.max_unread, bind_request.send_buffer)
        self._authenticator.guard(self._jobs, "jobs")
        self._authenticator.guard(self._stream, "stream")
        self._fd_pressure = FdPressure(self._authenticator.connections.has_sent, self._refused)
        self._unfinished = UnfinishedMessages(self._authenticator.connections, self._refused)
        self._memory_limit = MemoryLimitWatch()
        self._large_messages = LargeMessageRates()
        self._topics = Topics()
        self._owners: dict[str, str] = {}
        self._sizes_ahead: deque[tuple[int, int]] = deque()
        """The bytes of the message and of the pictures of each request."""
        self._num_bytes_ahead = self._num_picture_bytes_ahead = 0
        self._next_tick = self._next_alive = 0.0
        self._release_at = math.inf
        """When the router is to hear of new subscriptions, if nothing is sent to it before."""
        self._is_closing = False

    def bind(self) -> SocketsBound:
        """Bind both sockets; raises ConfigurationInvalid naming the endpoint that cannot be bound."""
        listening = SocketsBound(
            bind(self._jobs, self._bind_request.jobs_endpoint), bind(self._stream, self._bind_request.stream_endpoint)
        )
        self._fd_pressure.watch([listening.jobs, listening.stream])
        self._unfinished.watch([listening.jobs, listening.stream])
        return listening

    def run(self) -> None:
        """Serve until the router sends Close; raises EOFError once the router is gone."""
        poller = SourcePoller(self._authenticator.sources)
        while not self._is_closing:
            ready = self._wait(poller)
            if self._link.fileno() in ready:
                for message in self._link.receive():
                    self._carry_out(message)
            if self._stream in ready:
                self._take_subscriptions()
            if self._jobs in ready:
                self._take_requests()
            if not ready.keys().isdisjoint(self._authenticator.sources):
                self._process_auth_events()
            self._tick()
            self._link.flush()

    def close(self) -> None:
        """Close the sockets; ZeroMQ sends waiting messages for as long as the sockets linger."""
        self._authenticator.close()
        self._jobs.close()
        self._stream.close()
        self._context.term()

    def _make_authenticator(self) -> Authenticator:
        keys_dir = self._bind_request.keys_dir
        if keys_dir is None:
            return OpenAuthenticator(self._refused)
        return CurveAuthenticator(self._context, AcceptedKeys(KeyStore(Path(keys_dir))), self._refused)

    def _wait(self, poller: SourcePoller) -> dict[Any, int]:
        """The ready sources, at the next tick at the latest; sources without room for their messages are not polled."""
        poller.watch(self._link, self._link.events)
        poller.watch(self._stream, 0 if self._link.is_congested else READABLE)
        poller.watch(self._jobs, READABLE if self._may_take_requests() else 0)
        if not self._link.has_later:
            self._release_at = math.inf
        return poller.wait(min(self._next_tick, self._release_at) - time.monotonic())

    def _process_auth_events(self) -> None:
        for revoked in self._authenticator.process_events():
            self._link.put(Revocation(revoked))

    def _may_take_requests(self) -> bool:
        return len(self._sizes_ahead) < MAX_REQUESTS_AHEAD

    def _carry_out(self, message: ToEdge) -> None:
        match message:
            case Publications(frames):
                self._publish(frames)
            case ClientReply(identity, frames):
                self._reply(identity, frames)
            case JobOwner(topic, tenant):
                self._on_owner(topic, tenant)
            case RequestsTaken(num_requests):
                for _ in range(num_requests):
                    num_bytes, num_picture_bytes = self._sizes_ahead.popleft()
                    self._num_bytes_ahead -= num_bytes
                    self._num_picture_bytes_ahead -= num_picture_bytes
            case Close():
                self._is_closing = True
            case BindSockets():
                pass  # it was the first message

    def _publish(self, frames: list[bytes]) -> None:
        # pyzmq's own `send` spends half of its time on determining the kind of the socket.
        send = zmq.backend.Socket.send
        stream, each = self._stream, iter(frames)
        for topic, header, payload in zip(each, each, each, strict=True):
            send(stream, topic, MORE)
            send(stream, header, MORE)
            send(stream, payload, LAST)

    def _reply(self, identity: bytes, frames: list[bytes]) -> None:
        # A client that has left, or does not read, can request missed messages later.
        connections = self._authenticator.connections
        if connections.may_send(identity) and send_to_peer(self._jobs, [identity, *frames]):
            connections.on_sent(identity, frames)

    def _take_subscriptions(self) -> None:
        for caller, frames in self._authenticator.received(self._stream, MAX_SUBSCRIPTIONS):
            action, topic = frames[0][:1], frames[0][1:]
            name = topic.decode("latin-1")
            if not is_job_id(name):
                if action == b"\1":
                    self._link.put(BadTopic())
            elif action == b"\1":
                refusal = self._subscribe(name, caller or REVOKED_CALLER)
                if refusal is None:
                    self._stream.setsockopt(zmq.SUBSCRIBE, topic)
                self._link.put_later(Subscription(name, caller or REVOKED_CALLER, refusal))
                self._release_at = min(self._release_at, time.monotonic() + COMPANY_S)
            elif action == b"\0":
                self._stream.setsockopt(zmq.UNSUBSCRIBE, topic)
                self._topics.unsubscribe(name, caller)
                self._link.put_later(Unsubscription(name, caller))

    def _subscribe(self, topic: str, caller: Caller) -> str | None:
        """Record a subscription; returns the reason if it is refused."""
        if self._owners.get(topic, caller.tenant) != caller.tenant:
            return self._topics.refuse(topic, caller, "foreign_topic")
        return self._topics.subscribe(topic, caller)

    def _on_owner(self, topic: str, tenant: str | None) -> None:
        """Let only that tenant subscribe from now on, and close connections of earlier subscribers of other tenants."""
        if tenant is None:
            self._owners.pop(topic, None)
            return
        self._owners[topic] = tenant
        if (anonymous_connection := self._topics.tenant_of(topic)) not in (None, tenant):
            self._refused["foreign_topic"] += 1
            self._authenticator.close_listeners(str(anonymous_connection))

    def _take_requests(self) -> None:
        num_more = MAX_REQUESTS_AHEAD - len(self._sizes_ahead)
        for caller, (identity, *frames) in self._authenticator.received_frames(self._jobs, num_more, self._admits):
            sizes = sum(map(len, frames[:2])), sum(map(len, frames[2:]))
            self._sizes_ahead.append(sizes)
            self._num_bytes_ahead += sizes[0]
            self._num_picture_bytes_ahead += sizes[1]
            message, pictures = [frame.bytes for frame in frames[:2]], [frame.buffer for frame in frames[2:]]
            self._link.put(ClientRequest(identity.bytes, caller, message, len(pictures)), pictures)
            if not self._may_take_requests():
                return

    def _admits(self, caller: Caller | None, frames: Sequence[zmq.Frame]) -> bool:
        """True if a client may send a message of that size now; otherwise the client gets a Rejected."""
        identity, *contents = frames
        num_bytes = sum(map(len, contents))
        if num_bytes <= LARGE_BYTES:
            return True
        try:
            check_sizes([*map(len, contents)])  # larger ones would exceed the rate at any time
            self._check_rate(requester_of(caller, identity.bytes), caller, [*map(len, contents)])
        except CactusError as error:
            header, payload = contents[0].bytes, contents[min(1, len(contents) - 1)].buffer
            rejected = Rejected(error=error.info(), job_id=job_id_within(payload))
            self._reply(identity.bytes, encode(rejected, answer_encoding_of([header])))
            return False
        return True

    def _check_rate(self, client: str, caller: Caller | None, sizes: Sequence[int]) -> None:
        """Raise Overloaded if a client may not send a large message, whose frames have these sizes, now."""
        has_room = sum(sizes[:2]) <= LARGE_BYTES or self._num_bytes_ahead < MAX_BYTES_AHEAD
        has_picture_room = not sum(sizes[2:]) or self._num_picture_bytes_ahead < MAX_PICTURE_BYTES_AHEAD
        if not (has_room and has_picture_room):
            delay_s = BUSY_DELAY_S
        else:
            has_key = caller is not None and bool(caller.name)
            delay_s = self._large_messages.delay_s(client, sum(sizes), time.monotonic(), has_key=has_key)
        if delay_s:
            self._refused["large_messages"] += 1
            raise Overloaded("too many bytes in large messages", retry_after=round(delay_s + 0.001, 3))

    def _tick(self) -> None:
        if self._refused:
            self._link.put(Refusals(dict(self._refused)))
            self._refused.clear()
        now = time.monotonic()
        if now >= self._release_at:
            self._link.release()
        if now < self._next_tick - EARLY_S:
            return
        self._link.release()
        is_growing = self._unfinished.on_tick(now)
        self._next_tick = now + (CHECK_S if is_growing else TICK_S)
        self._fd_pressure.on_tick(now)
        self._process_auth_events()
        if now >= self._next_alive:
            self._next_alive = now + ALIVE_S
            self._memory_limit.on_tick(now)
            self._link.put(Heartbeat())

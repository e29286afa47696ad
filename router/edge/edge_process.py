"""The router's side of its edge process: starts it, exchanges messages, and restarts it when it ends."""

from __future__ import annotations

import contextlib
import logging
import select
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import msgspec
import zmq

from cactus_actors.process.starvation import FairSeconds
from cactus_actors.protocol.errors import ConfigurationInvalid, Unavailable
from cactus_actors.router.auth.bound_sockets import STREAM_HIGH_WATER_MARK, STREAM_SEND_BUFFER
from cactus_actors.router.edge.edge_link import EdgeLink
from cactus_actors.router.edge.edge_messages import (
    BindFailed,
    BindSockets,
    ClientReply,
    Close,
    FromEdge,
    Heartbeat,
    JobOwner,
    Publications,
    SocketsBound,
    ToEdge,
)
from cactus_actors.router.process.child_process import start_child

START_LIMIT_S = 60.0
STABLE_AFTER_S = 10.0
"""An edge process that ends sooner is started again a little later."""
RESTART_DELAYS_S = (0.0, 0.05, 0.1, 0.2, 0.5, 1.0)
CLOSE_LIMIT_S = 2.0
ENVIRONMENT = {
    # Return the memory that an attack took: use one arena, and map large blocks separately.
    "MALLOC_ARENA_MAX": "1",
    "MALLOC_MMAP_THRESHOLD_": "65536",
    "MALLOC_TRIM_THRESHOLD_": "131072",
}
_GENERATION_BYTES = 4

_log = logging.getLogger(__name__)


@dataclass(kw_only=True, slots=True)
class EdgeLimits:
    """Limits of silence and congestion of the edge process, and of unread data of a subscriber.

    After `quiet_s` seconds without a message the router examines the process; it replaces one that was silent
    for `silent_s` seconds of processor time it could have had. The router stops waiting for a process that
    takes nothing for `stalled_s` seconds. A subscriber may leave `max_unread` messages and `send_buffer`
    bytes unread.
    """

    quiet_s: float = 2.5
    silent_s: float = 10.0
    stalled_s: float = 0.5
    max_unread: int = STREAM_HIGH_WATER_MARK
    send_buffer: int = STREAM_SEND_BUFFER


class EdgeProcess:
    """Runs one edge process after the other, on the same endpoints.

    Identities of clients begin with the number of their edge process, so that a message to a client of an ended
    process reaches no other client. While there is no process, messages are dropped: no client is connected.
    Each process first gets the `owners` of jobs. `on_lost` is called when a process has ended.
    """

    def __init__(
        self,
        bind_request: BindSockets,
        owners: Callable[[], Iterable[tuple[str, str]]],
        on_lost: Callable[[], None],
        limits: EdgeLimits,
    ) -> None:
        self._bind_request = bind_request
        self._owners = owners
        self._on_lost = on_lost
        self._limits = limits
        self._link: EdgeLink[FromEdge] | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._generation = 0
        self._published: list[bytes] = []
        self._early: list[FromEdge] = []
        """Messages that came while `listening` waited; `receive` returns them."""
        self._num_early_exits = 0
        self._started_at = self._last_message_at = 0.0
        self._silence: FairSeconds | None = None
        self._last_taken_at, self._is_stalled = 0.0, False
        self._restart_at: float | None = None

    @property
    def pid(self) -> int | None:
        """The process id, while there is a process."""
        return None if self._process is None else self._process.pid

    @property
    def is_congested(self) -> bool:
        """True if the process is so far behind that the router should produce no more messages for it.

        A process that takes nothing at all delays nothing: clients ask again for lost items and replies.
        """
        return self._link is not None and self._link.is_congested and not self._is_stalled

    @property
    def events(self) -> int:
        """The events to poll for."""
        return int(zmq.POLLIN) if self._link is None else self._link.events

    def fileno(self) -> int:
        """The descriptor to poll; negative, which polls ignore, while there is no process."""
        return -1 if self._link is None else self._link.fileno()

    def begin(self) -> None:
        """Start the first process."""
        self._start(time.monotonic())

    def listening(self) -> SocketsBound:
        """Wait until the first process listens; raises ConfigurationInvalid if it cannot.

        Clients may be waiting: their first requests can come with the news, and the next `receive` returns them.
        """
        until = time.monotonic() + START_LIMIT_S
        poll = select.poll()
        poll.register(self, select.POLLIN)
        try:
            while self._link is not None and (left := until - time.monotonic()) > 0:
                poll.poll(1000 * left)
                self._early += self._link.receive()
                for message in self._early:
                    if isinstance(message, BindFailed):
                        raise ConfigurationInvalid(message.message)
                    if isinstance(message, SocketsBound):
                        self._bound(message)
                        return message
        except EOFError:
            raise Unavailable("the edge process ended while it started") from None
        raise Unavailable(f"the edge process did not start in {START_LIMIT_S:g} s")

    def publish(self, frames: Sequence[bytes]) -> None:
        """Publish topic, header and payload with the next flush."""
        if self._link is not None and not self._is_stalled:
            self._published += frames

    def reply(self, identity: bytes, frames: list[bytes]) -> None:
        """Send frames to a client."""
        if identity.startswith(self._prefix) and not self._is_stalled:
            self.put(ClientReply(identity[_GENERATION_BYTES:], frames))

    def put(self, message: ToEdge) -> None:
        """Send a message, after the publications before it."""
        if self._link is not None:
            self._put_published(self._link)
            self._link.put(message)

    def flush(self) -> None:
        """Send as much as the process has room for."""
        if self._link is None:
            return
        self._put_published(self._link)
        num_sent = self._link.num_bytes_sent
        with contextlib.suppress(EOFError):  # the next `receive` notices it
            self._link.flush()
        if self._link.num_bytes_sent != num_sent:
            self._last_taken_at, self._is_stalled = time.monotonic(), False

    def receive(self) -> list[FromEdge]:
        """The messages of the process; none while there is no process."""
        if self._link is None:
            return []
        try:
            messages = [*self._early, *self._link.receive()]
        except (EOFError, msgspec.DecodeError):
            self._lose("ended")
            return []
        self._early.clear()
        if messages:
            self._last_message_at = self._last_taken_at = time.monotonic()
            self._silence, self._is_stalled = None, False
        for message in messages:
            if isinstance(message, BindFailed):
                _log.error("the edge process cannot listen: %s", message.message)
        return [it for it in messages if not isinstance(it, SocketsBound | BindFailed | Heartbeat)]

    def identity(self, identity: bytes) -> bytes:
        """The identity of a client of the current process."""
        return self._prefix + identity

    def on_tick(self, now: float) -> None:
        """Start a missing process, and end a silent one; called often."""
        limits = self._limits
        if self._link is None or not self._link.is_congested:
            self._last_taken_at = now
        elif now - self._last_taken_at > limits.stalled_s:
            self._is_stalled = True
        if self._link is None:
            if self._restart_at is not None and now >= self._restart_at:
                self._start(now)
        elif now - self._last_message_at > limits.quiet_s:
            if self._silence is None:
                self._silence = FairSeconds(self.pid, now, limits.quiet_s)
            elif self._silence.elapsed(now) > limits.silent_s - limits.quiet_s:
                self._lose("does not answer")

    def close(self) -> None:
        """Let the process send its remaining messages, and end it."""
        self._restart_at = None
        if self._link is not None and self._process is not None:
            self.put(Close())
            until = time.monotonic() + CLOSE_LIMIT_S
            poller = zmq.Poller()
            with contextlib.suppress(EOFError):
                while (left := until - time.monotonic()) > 0:
                    self._link.flush()
                    poller.register(self, self.events)
                    poller.poll(round(1000 * left))
                    self._link.receive()
        self._end()

    @property
    def _prefix(self) -> bytes:
        return self._generation.to_bytes(_GENERATION_BYTES, "big")

    def _start(self, now: float) -> None:
        self._generation += 1
        self._started_at = self._last_message_at = self._last_taken_at = now
        self._is_stalled = False
        self._silence = None
        self._restart_at = None
        try:
            self._process, connection = start_child("cactus_actors.router.edge.edge_child", environment=ENVIRONMENT)
        except OSError as error:
            _log.error("the edge process cannot be started: %s", error)
            self._restart_at = now + RESTART_DELAYS_S[-1]
            return
        self._link = EdgeLink(connection, FromEdge)
        self._link.put(self._bind_request)
        for job_id, tenant in self._owners():
            self._link.put(JobOwner(job_id, tenant))
        self.flush()

    def _bound(self, listening: SocketsBound) -> None:
        """Later processes listen at the endpoints of the first one."""
        self._bind_request = msgspec.structs.replace(
            self._bind_request, jobs_endpoint=listening.jobs, stream_endpoint=listening.stream
        )

    def _lose(self, how: str) -> None:
        """End the process, if it has not ended, and schedule the next one."""
        process = self._process
        self._end()
        status = None if process is None else process.returncode
        now = time.monotonic()
        self._num_early_exits = 0 if now - self._started_at > STABLE_AFTER_S else self._num_early_exits + 1
        delay = RESTART_DELAYS_S[min(self._num_early_exits, len(RESTART_DELAYS_S) - 1)]
        self._restart_at = now + delay
        _log.warning("the edge process %s (exit status %s); another one starts", how, status)
        self._on_lost()

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        if self._link is not None:
            self._link.close()
        self._process = self._link = None
        self._published.clear()
        self._early.clear()

    def _put_published(self, link: EdgeLink[FromEdge]) -> None:
        if self._published:
            link.put(Publications(self._published))
            self._published = []

"""The sockets of a client, and the dispatch of received messages to the jobs and requests they answer."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

import msgspec
import zmq
import zmq.asyncio
from zmq.utils.monitor import parse_monitor_message

from cactus_actors.client import client_sockets
from cactus_actors.client.job_follower import JobFollower, Timeouts
from cactus_actors.client.peer_probe import Handshakes, identify_peer
from cactus_actors.client.reply_watchdog import ReplyWatchdog
from cactus_actors.client.submit import EncodedSubmit
from cactus_actors.client.subscriptions import Subscriptions
from cactus_actors.keys.key_file import Credentials
from cactus_actors.protocol.errors import CactusError, InvalidMessage, Unavailable, error_from_info
from cactus_actors.protocol.messages import Accepted, Cancel, ClientMessage, Rejected, RouterReply, Submit
from cactus_actors.protocol.results import Result
from cactus_actors.protocol.wire import encode, router_reply_decoder, stream_message_decoder

R = TypeVar("R", bound=RouterReply)

TICK_S = 0.05
RESEND_INTERVAL_S = 1.0


class JobHandle:
    """A job's follower and an event that is set on each change."""

    def __init__(self, follower: JobFollower) -> None:
        self.follower = follower
        self.on_change: Callable[[], None] | None = None
        self._changed, self._ended = asyncio.Event(), asyncio.Event()

    def wake(self) -> None:
        self._changed.set()
        if self.follower.outcome is not None:
            self._ended.set()
        if self.on_change is not None:
            self.on_change()

    async def wait_changed(self) -> None:
        """Return after the next change. Callers check their condition before and after."""
        self._changed.clear()
        await self._changed.wait()

    async def accepted(self) -> Accepted | None:
        """Wait until the service has accepted the job; None if the job ended before its acceptance was received.

        Raises the error of a refused job.
        """
        while self.follower.accepted is None and self.follower.outcome is None:
            await self.wait_changed()
        if self.follower.accepted is None and isinstance(self.follower.outcome, CactusError):
            raise self.follower.outcome
        return self.follower.accepted

    async def outcome(self) -> Result:
        """Return the job's result, or raise its error."""
        while (outcome := self.follower.outcome) is None:
            await self._ended.wait()
        if isinstance(outcome, CactusError):
            raise outcome
        return outcome


class PendingReply(NamedTuple):
    """A request that waits for a reply of one of `kinds`."""

    kinds: tuple[type[msgspec.Struct], ...]
    answer: asyncio.Future[RouterReply]


class RouterConnection:
    """Sockets, reading tasks and job handles of one client; opens at first use, inside the running loop.

    A job may have several handles; each receives every message of the job.
    """

    def __init__(
        self,
        jobs_endpoint: str,
        stream_endpoint: str,
        timeouts: Timeouts,
        credentials: Credentials | None = None,
    ) -> None:
        self._jobs_endpoint = jobs_endpoint
        self._credentials = credentials
        self._refusal: CactusError | None = None
        self._stream_endpoint = stream_endpoint
        self.timeouts = timeouts
        self._handles: dict[str, list[JobHandle]] = {}
        self._pending_replies: dict[str, list[PendingReply]] = {}
        self._context: zmq.asyncio.Context | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._readers: list[client_sockets.SocketReader] = []
        self._decode_reply = router_reply_decoder().decode
        self._decode_streamed = stream_message_decoder().decode
        self._watchdog = ReplyWatchdog()
        self._has_pending = asyncio.Event()
        """Set while a job is followed or a reply is pending: the tick is needed then."""
        self._is_closed = False

    def open(self) -> None:
        """Connect, unless that was done; ZeroMQ keeps the connection up from then on."""
        if self._is_closed:
            raise Unavailable("the client was closed")
        if self._refusal is not None:
            raise self._refusal
        if self._context is not None:
            return
        context = zmq.asyncio.Context()
        try:
            self._jobs = client_sockets.make_socket(context, zmq.DEALER, self._credentials)
            self._events = client_sockets.events_of(context, self._jobs)
            client_sockets.connect(self._jobs, self._jobs_endpoint)
            self._context = context
            self._requests = client_sockets.SocketReader(self._jobs, self._on_reply_frames)
            self._readers.append(self._requests)
            self._subscriptions = Subscriptions(self._open_stream)
        except BaseException:
            self._context = None
            self._close_readers()
            context.destroy(linger=0)
            raise
        self._tasks += [asyncio.create_task(work()) for work in (self._watch, self._tick)]

    async def close(self) -> None:
        """Fail the jobs that are still followed, and release sockets, tasks and the ZeroMQ context."""
        if self._is_closed:
            return
        self._is_closed = True
        for job in self._all_handles():
            job.follower.fail(Unavailable("the client was closed"))
            job.wake()
        for pending in itertools.chain(*self._pending_replies.values()):
            pending.answer.cancel()
        if self._context is None:
            return
        for task in self._tasks:
            task.cancel()
        self._close_readers()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._jobs.disable_monitor()
        self._events.close(0)
        self._jobs.close(client_sockets.LINGER_MS)
        for stream in self._subscriptions.sockets:
            stream.close(0)
        await asyncio.to_thread(self._context.term)  # blocks for as long as the sockets linger

    async def follow(self, job_id: str, submit: Submit | EncodedSubmit | None, *, streamed: bool) -> JobHandle:
        """Subscribe to the job's topic if `streamed`, then submit or fetch the job."""
        self.open()
        if streamed:
            self._subscriptions.subscribe(job_id.encode())
        follower = JobFollower(job_id, submit, streamed=streamed, timeouts=self.timeouts, now=time.monotonic())
        job = JobHandle(follower)
        self._handles.setdefault(job_id, []).append(job)
        self._has_pending.set()
        self._flush(job)
        return job

    def handles(self, job_id: str) -> Sequence[JobHandle]:
        """The handles of a job; none if it has ended or is not followed here."""
        return self._handles.get(job_id, ())

    def abandon(self, job: JobHandle) -> None:
        """Cancel a job whose deltas are no longer needed. Its result can still be awaited."""
        job_id = job.follower.job_id
        if job not in self.handles(job_id) or self._is_closed:
            return
        if job.follower.streamed:
            self._subscriptions.unsubscribe(job_id.encode())
        job.follower.abandon()
        job.wake()
        self._send(Cancel(job_id=job_id))

    def release(self, job: JobHandle) -> None:
        """Stop following a job; the job keeps running."""
        if not self._is_closed:
            self._forget(job)

    async def ask(self, echo_id: str, message: ClientMessage, *kinds: type[R]) -> R:
        """Send `message` and return the reply of one of `kinds` that echoes `echo_id`; resend until it arrives.

        Requests are idempotent. Raises the error of a Rejected.
        """
        self.open()
        pending = PendingReply(kinds, asyncio.get_running_loop().create_future())
        self._pending_replies.setdefault(echo_id, []).append(pending)
        self._has_pending.set()
        answer = pending.answer
        give_up_at = time.monotonic() + self.timeouts.first_reply_s
        try:
            while not answer.done() and (left := give_up_at - time.monotonic()) > 0:
                self._send(message)
                await asyncio.wait([answer], timeout=min(RESEND_INTERVAL_S, left))
        finally:
            waiting = self._pending_replies[echo_id]
            waiting.remove(pending)
            if not waiting:
                del self._pending_replies[echo_id]
        if answer.cancelled():
            raise Unavailable("the client was closed")
        if not answer.done():
            raise self.timeouts.exhausted(self.timeouts.first_reply_s)
        reply = answer.result()
        if isinstance(reply, Rejected):
            raise error_from_info(reply.error)
        assert isinstance(reply, kinds)
        return reply

    def _on_reply_frames(self, frames: list[bytes]) -> None:
        self._watchdog.on_reply()
        try:
            self._on_reply(self._decode_reply(frames))
        except InvalidMessage as error:
            self._fail_all(error)

    def _close_readers(self) -> None:
        for reader in self._readers:
            reader.close()
        self._readers.clear()

    def _open_stream(self) -> zmq.asyncio.Socket:
        """Open another connection to the stream endpoint, which is read from now on."""
        assert self._context is not None
        stream = client_sockets.make_socket(self._context, zmq.SUB, self._credentials)
        client_sockets.connect(stream, self._stream_endpoint)
        self._readers.append(client_sockets.SocketReader(stream, self._on_published))
        return stream

    def _on_published(self, frames: list[bytes]) -> None:
        topic, *contents = frames
        jobs = self.handles(topic.decode("ascii", "replace"))
        if not jobs:
            return
        try:
            message = self._decode_streamed(contents)
        except InvalidMessage:
            return  # published messages may be lost; the client resumes after a gap
        now = time.monotonic()
        for job in [*jobs]:
            job.follower.on_message(message, now, from_stream=True)
            self._flush(job)

    async def _watch(self) -> None:
        """Resume all jobs after a reconnection; fail everything when the service refuses this client."""
        was_connected = False
        handshakes = Handshakes()
        while self._refusal is None:
            event = parse_monitor_message(await self._events.recv_multipart())["event"]
            if event == client_sockets.CONNECTING:
                handshakes.on_connected()
            elif event == client_sockets.CONNECTED:
                handshakes.on_succeeded()
                if was_connected:
                    self._resume_all()
                was_connected = True
            elif event != client_sockets.DISCONNECTED:
                self._refusal = client_sockets.refusal(event, self._jobs_endpoint, self._credentials)
            elif (
                handshakes.on_disconnected()
                and not was_connected  # otherwise it was the right peer and will return
                and handshakes.num_broken in (1, client_sockets.MAX_BROKEN_HANDSHAKES)
            ):
                peer = await identify_peer(self._jobs_endpoint)
                self._refusal = client_sockets.mismatch(
                    peer, self._jobs_endpoint, self._credentials, handshakes.num_broken
                )
        for socket, endpoint in self._connected():
            client_sockets.leave(socket, endpoint)
        self._fail_all(self._refusal)

    def _resume_all(self) -> None:
        """Request again the replies that were in flight on the closed connection."""
        now = time.monotonic()
        for job in self._all_handles():
            job.follower.on_reconnected(now)
            self._flush(job)

    async def _tick(self) -> None:
        while True:
            await self._has_pending.wait()
            await asyncio.sleep(TICK_S)
            now = time.monotonic()
            for job in self._all_handles():
                job.follower.on_tick(now)
                if job.follower.outbox or job.follower.outcome is not None:
                    self._flush(job)
            self._subscriptions.leave_ended()
            if not self._handles and not self._pending_replies:
                self._watchdog.on_idle()
                self._has_pending.clear()
            elif self._refusal is None and self._watchdog.has_expired(now):
                for socket, endpoint in self._connected():  # they may be dead; messages in flight are requested again
                    client_sockets.reconnect(socket, endpoint)
                self._requests.look()
                self._watchdog.on_reconnected(now)

    def _connected(self) -> list[tuple[zmq.asyncio.Socket, str]]:
        streams = [(stream, self._stream_endpoint) for stream in self._subscriptions.sockets]
        return [(self._jobs, self._jobs_endpoint), *streams]

    def _on_reply(self, reply: RouterReply) -> None:
        echo_id: str | None = getattr(reply, "request_id", None) or getattr(reply, "job_id", None)
        if echo_id is None:
            if isinstance(reply, Rejected):  # the router could not decode a message
                self._fail_all(error_from_info(reply.error))
            return
        for kinds, answer in self._pending_replies.get(echo_id, ()):
            if not answer.done() and isinstance(reply, (*kinds, Rejected)):
                answer.set_result(reply)
        for job in [*self.handles(echo_id)]:
            job.follower.on_message(reply, time.monotonic())
            self._flush(job)

    def _fail_all(self, error: CactusError) -> None:
        for job in self._all_handles():
            job.follower.fail(error)
            self._flush(job)
        for pending in itertools.chain(*self._pending_replies.values()):
            if not pending.answer.done():
                pending.answer.set_result(Rejected(error=error.info()))

    def _all_handles(self) -> list[JobHandle]:
        return [*itertools.chain(*self._handles.values())]

    def _flush(self, job: JobHandle) -> None:
        """Send the follower's messages, wake its waiters, and forget an ended job."""
        if messages := job.follower.outbox:
            job.follower.outbox = []
            for message in messages:
                self._send(message)
        if job.follower.outcome is not None:
            self._forget(job)
        job.wake()

    def _forget(self, job: JobHandle) -> None:
        job_id = job.follower.job_id
        if job in self.handles(job_id):
            self._handles[job_id].remove(job)
            if not self._handles[job_id]:
                del self._handles[job_id]
            if job.follower.streamed:
                self._subscriptions.unsubscribe(job_id.encode())
        job.wake()

    def _send(self, message: ClientMessage | EncodedSubmit) -> None:
        frames = message.frames if isinstance(message, EncodedSubmit) else encode(message)
        if not isinstance(message, Cancel):  # Cancel has no reply of its own
            self._watchdog.on_sent(sum(map(len, frames)), time.monotonic())
        with contextlib.suppress(zmq.Again):  # the queue to an absent service is full; requests are repeated
            self._requests.send(frames)

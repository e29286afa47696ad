"""The handoff's side of the worker protocol, over ZeroMQ."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import zmq.asyncio

from cactus_actors.config import HEARTBEAT_S, WORKER_TIMEOUT_S, HandoffSettings
from cactus_actors.handoff.batches.batch_requests import CloudBatches
from cactus_actors.handoff.cloud_requests import CloudRequests
from cactus_actors.handoff.worker_socket import open_worker_socket, send
from cactus_actors.keys.key_file import read_key_file
from cactus_actors.process.health import HandoffHealth
from cactus_actors.protocol.totals import AuditTotals, BreakerState, CloudSpending
from cactus_actors.protocol.wire import router_command_decoder
from cactus_actors.protocol.worker_messages import (
    Abort,
    AskBatch,
    Audit,
    Dispatch,
    Drain,
    Draining,
    Goodbye,
    Report,
    RouterCommand,
    Welcome,
)

if TYPE_CHECKING:
    from cactus_actors.handoff.audits.audit_requests import AuditRequests

RETRY_SEND_S = 0.05
HELLO_TIMEOUT_S = 2.0
MAX_REPORT_CHARACTERS = 512 * 1024

_State = tuple[int, int, str | None, BreakerState]
"""State that is reported immediately: accepted dispatches, free slots, why there are none, the breaker."""


class CloudWorker:
    """`serve` runs on an event loop; `drain`, `stop` and `health` may be called from any thread.

    The router knows this worker after its Welcome. A Welcome without a Hello means that the router does not know it:
    all jobs are dropped then, and Hello is sent again.
    """

    def __init__(self, settings: HandoffSettings, environment: Mapping[str, str]) -> None:
        self._settings = settings
        self._wake = asyncio.Event()
        self._requests = CloudRequests(settings, environment, self._wake.set)
        self._audits = _audits_of(settings, self._wake.set)
        self._batches = CloudBatches(settings, self._requests.spending, self._wake.set)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._draining = False
        self._stopping = False
        self._is_welcomed = False
        self._sent_hello_at: float | None = None
        self._has_announced_draining = False
        self._num_accepted = 0
        self._reported_at = 0.0
        self._reported_state: _State | None = None
        self._reported_spending: list[CloudSpending] | None = None
        self._reported_audits: AuditTotals | None = None

    def drain(self) -> None:
        """Finish running jobs, then leave."""
        self._draining = True
        self._wake_threadsafe()

    def stop(self) -> None:
        """Leave now; the router dispatches running jobs elsewhere."""
        self._stopping = True
        self._wake_threadsafe()

    def health(self) -> HandoffHealth:
        desk = self._requests
        return HandoffHealth(
            worker_id=self._settings.worker_id,
            connected=self._is_welcomed,
            unavailable=desk.unavailable(),
            breaker=desk.breaker_state(),
            num_running=len(desk.jobs),
            num_started=desk.budget.num_started,
            num_requests=desk.budget.num_requests,
            num_answered=desk.num_answered,
            num_failed={kind: count for kind, count in desk.num_failed.items() if count},
        )

    async def serve(self, endpoint: str) -> str:
        """Work for the router at `endpoint`; returns "drained" or "stopped"."""
        self._loop = asyncio.get_running_loop()
        key_file = self._settings.key_file
        credentials = None if key_file is None else read_key_file(Path(key_file))
        context = zmq.asyncio.Context()
        socket = open_worker_socket(context, endpoint, self._settings.worker_id, credentials)
        listener = asyncio.create_task(self._listen(socket))
        try:
            return await self._work(socket, listener)
        finally:
            listener.cancel()
            await asyncio.gather(listener, return_exceptions=True)
            await self._requests.aclose()
            await self._batches.aclose()
            if self._audits is not None:
                await self._audits.aclose()
            socket.close()
            context.term()

    async def _work(self, socket: zmq.asyncio.Socket, listener: asyncio.Task[None]) -> str:
        while not (self._stopping or (self._draining and not self._requests.jobs)):
            self._wake.clear()
            if listener.done():
                listener.result()  # raises the error that ended it
            now = time.monotonic()
            self._requests.refresh_access(now)
            self._requests.start_waiting()
            if self._audits is not None:
                self._audits.take_labels(now)
                self._audits.start_next(self._requests.access, has_room=self._requests.has_room)
            self._send_batches(socket)
            pause_s = self._send_report(socket, now) if self._is_welcomed else self._send_hello(socket, now)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause_s):
                    await self._wake.wait()
        self._requests.abort_all()
        send(socket, Goodbye())
        return "stopped" if self._stopping else "drained"

    async def _listen(self, socket: zmq.asyncio.Socket) -> None:
        decoder = router_command_decoder()
        try:
            while True:
                self._on_command(decoder.decode(await socket.recv_multipart()))
                self._wake.set()
        finally:
            self._wake.set()

    def _on_command(self, command: RouterCommand) -> None:
        match command:
            case Welcome():
                if self._is_welcomed:
                    self._reset_connection()
                else:
                    self._is_welcomed = self._sent_hello_at is not None
            case Dispatch():
                self._num_accepted += 1
                self._requests.take(command)
            case Abort():
                self._requests.abort(command.dispatch_id)
            case Audit():
                if self._audits is not None:
                    self._audits.take(command)
            case AskBatch():
                self._requests.refresh_access(time.monotonic())
                self._batches.take(command, self._requests.access, time.monotonic())
            case Drain():
                self._draining = True

    def _send_batches(self, socket: zmq.asyncio.Socket) -> None:
        """Send the replies about batches; one that cannot be sent is asked for again."""
        for reply in self._batches.replies:
            send(socket, reply)
        self._batches.replies.clear()

    def _send_hello(self, socket: zmq.asyncio.Socket, now: float) -> float:
        """Send Hello, again if it stays unanswered; returns the seconds until the next action."""
        if self._sent_hello_at is not None and now - self._sent_hello_at < HELLO_TIMEOUT_S:
            return HEARTBEAT_S
        self._reset_connection()
        if not send(socket, self._requests.hello()):
            return RETRY_SEND_S
        self._sent_hello_at = self._reported_at = now
        return HEARTBEAT_S

    def _send_report(self, socket: zmq.asyncio.Socket, now: float) -> float:
        """Send new reports, or a heartbeat once a second; returns the seconds until the next action."""
        if self._draining and not self._has_announced_draining:
            self._has_announced_draining = send(socket, Draining())
        due_in_s = self._reported_at + HEARTBEAT_S - now
        if due_in_s > 0 and not self._requests.has_updates and self._state() == self._reported_state:
            return due_in_s
        if self._report(socket):
            self._reported_at = now
            return HEARTBEAT_S
        if now - self._reported_at > WORKER_TIMEOUT_S:
            self._reset_connection()  # the router already considers this worker lost
        return RETRY_SEND_S

    def _report(self, socket: zmq.asyncio.Socket) -> bool:
        """Report everything new, in several messages if it is long; returns whether all were sent."""
        while True:
            reported = self._requests.updates(MAX_REPORT_CHARACTERS)
            state, spent = self._state(), self._requests.spent()
            audits = None if self._audits is None else self._audits.totals()
            num_accepted, free_slots, unavailable, breaker = state
            report = Report(
                num_accepted=num_accepted,
                free_slots=free_slots,
                free_blocks=0,
                num_running=self._requests.num_running,
                deltas=[job.delta() for job in reported],
                tokens_generated=self._requests.num_completion_tokens,
                unavailable=unavailable,
                breaker=breaker,
                spent=None if spent == self._reported_spending else spent,
                audits=None if audits == self._reported_audits else audits,
            )
            # No await between a delta and its delivery, so that no chunk is missed.
            if not send(socket, report):
                return False
            self._reported_state, self._reported_spending, self._reported_audits = state, spent, audits
            self._requests.delivered(reported)
            if not self._requests.has_updates:
                return True

    def _state(self) -> _State:
        free_slots = 0 if self._draining else self._requests.free_slots()
        return self._num_accepted, free_slots, self._requests.unavailable(), self._requests.breaker_state()

    def _reset_connection(self) -> None:
        self._requests.abort_all()
        self._num_accepted = 0
        self._is_welcomed = False
        self._sent_hello_at = None
        self._has_announced_draining = False
        self._reported_state = self._reported_spending = self._reported_audits = None

    def _wake_threadsafe(self) -> None:
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop has ended already
                self._loop.call_soon_threadsafe(self._wake.set)


def _audits_of(settings: HandoffSettings, wake: Callable[[], None]) -> AuditRequests | None:
    """The audits; None if no answer is audited."""
    if not settings.audit_share:
        return None
    from cactus_actors.handoff.audits.audit_requests import (
        AuditRequests,  # numpy: an actor without audits does not load it
    )

    return AuditRequests(settings, wake)

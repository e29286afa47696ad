"""What workers say, told to those whom it concerns."""

from __future__ import annotations

from collections.abc import Sequence

from cactus_actors.protocol.worker_messages import (
    Draining,
    Goodbye,
    Hello,
    Report,
    Welcome,
    WorkerMessage,
)
from cactus_actors.router.effects import Outbox
from cactus_actors.router.lifecycle.escalations import Escalations
from cactus_actors.router.lifecycle.membership import Membership
from cactus_actors.router.lifecycle.streams import Streams
from cactus_actors.router.lifecycle.worker_reports import WorkerReports
from cactus_actors.router.scheduling.worker_table import WorkerTable
from cactus_actors.router.telemetry.counters import RouterCounters

MAX_UNTAKEN, MIN_AHEAD = 128, 2
"""Reports that all workers together have sent and the router has not taken, and those of each: a router that
does not keep up with its workers holds them up, and not their tokens."""


class WorkerSessions:
    """Takes the messages of workers; any message shows that its worker is alive."""

    def __init__(
        self,
        membership: Membership,
        workers: WorkerTable,
        worker_reports: WorkerReports,
        escalations: Escalations,
        streams: Streams,
        outbox: Outbox,
        counters: RouterCounters,
        epoch: int,
    ) -> None:
        self._membership = membership
        self._workers = workers
        self._worker_reports = worker_reports
        self._escalations = escalations
        self._streams = streams
        self._outbox = outbox
        self._counters = counters
        self._epoch = epoch

    def handle(self, messages: Sequence[tuple[bytes, WorkerMessage]], now: float) -> None:
        """What came together: tokens of one job are published together."""
        with self._streams.gathering(now):
            for identity, message in messages:
                self._handle_one(identity, message, now)

    def grant_credit(self, identities: set[bytes]) -> None:
        """Let these workers go on, now that what they reported is handed on."""
        max_ahead = max(MIN_AHEAD, MAX_UNTAKEN // max(1, self._workers.num_workers))
        for worker in map(self._workers.by_identity, identities):
            if worker is not None and (taken := worker.taken(max_ahead)) is not None:
                self._outbox.command(worker.identity, taken)

    def _handle_one(self, identity: bytes, message: WorkerMessage, now: float) -> None:
        worker = self._workers.by_identity(identity)
        if isinstance(message, Hello):
            self._membership.on_hello(identity, message, now)
        elif worker is None:
            # It speaks of a connection that is over, or to the router before this one: it must say Hello.
            if isinstance(message, Report):
                self._counters.on_late(message.deltas)
            if not isinstance(message, Goodbye):
                self._outbox.command(identity, Welcome(self._epoch))
        else:
            if not isinstance(message, Report):
                self._workers.mark_alive(worker, now)
            match message:
                case Report():
                    self._worker_reports.on_report(worker, message, now)
                    if worker.hello.kind == "cloud":
                        self._escalations.pump(now)
                case Draining():
                    self._workers.drain(worker)
                case Goodbye():
                    self._worker_reports.on_worker_gone(worker, None, now)

"""Handles the messages of workers, and grants them credit for their reports."""

from __future__ import annotations

from cactus_actors.protocol.worker_messages import (
    Draining,
    Goodbye,
    Hello,
    Report,
    Welcome,
    WorkerMessage,
)
from cactus_actors.router.lifecycle.membership import Membership
from cactus_actors.router.lifecycle.worker_reports import WorkerReports
from cactus_actors.router.router_state import RouterState

MAX_UNTAKEN, MIN_AHEAD = 128, 2
"""How many reports all workers together may have sent that the router has not taken, and at least how many each
worker: a router that does not keep up slows its workers down instead of queueing their tokens."""


class WorkerSessions:
    """Handles the messages of workers; any message shows that its worker is alive."""

    def __init__(self, state: RouterState, membership: Membership, worker_reports: WorkerReports) -> None:
        self._state = state
        self._workers = state.dispatcher.workers
        self._outbox = state.outbox
        self._membership = membership
        self._worker_reports = worker_reports

    def grant_credit(self, identities: set[bytes]) -> None:
        """Tell these workers how many more reports they may send, now that theirs are handed on."""
        max_ahead = max(MIN_AHEAD, MAX_UNTAKEN // max(1, self._workers.num_workers))
        for worker in map(self._workers.by_identity, identities):
            if worker is not None and (taken := worker.taken(max_ahead)) is not None:
                self._outbox.command(worker.identity, taken)

    def handle(self, identity: bytes, message: WorkerMessage, now: float) -> None:
        """Handle one message of a worker."""
        worker = self._workers.by_identity(identity)
        if isinstance(message, Hello):
            self._membership.on_hello(identity, message, now)
        elif worker is None:
            # Its session is over, or was with the router before this one: a Welcome makes it say Hello.
            if isinstance(message, Report):
                self._state.counters.on_late(message.deltas)
            if not isinstance(message, Goodbye):
                self._outbox.command(identity, Welcome(self._state.facts.epoch))
        else:
            if not isinstance(message, Report):
                self._workers.mark_alive(worker, now)
            match message:
                case Report():
                    self._worker_reports.on_report(worker, message, now)
                case Draining():
                    self._workers.drain(worker)
                case Goodbye():
                    self._worker_reports.on_worker_gone(worker, None, now)

"""What the service is doing now, for who asks."""

from __future__ import annotations

from collections import Counter

import msgspec

from cactus_actors.protocol.messages import Status, StatusRequest
from cactus_actors.protocol.totals import Held
from cactus_actors.router.lifecycle.admission import Admission
from cactus_actors.router.lifecycle.membership import Membership
from cactus_actors.router.scheduling.dispatcher import Dispatcher
from cactus_actors.router.state.job_table import JobTable
from cactus_actors.router.state.result_store import ResultStore
from cactus_actors.router.state.topics import Topics
from cactus_actors.router.telemetry.counters import RouterCounters


class ServiceFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What does not change while a router runs; `started_at` is of its monotonic clock, in seconds."""

    version: str
    epoch: int
    started_at: float
    model: str
    max_context: int
    vocab_size: int
    has_chat_template: bool = True
    fingerprint: str = ""


class ServiceStatus:
    """Reads the parts of the router; `storage_error` is why the journal cannot be written, if it cannot."""

    def __init__(
        self,
        facts: ServiceFacts,
        table: JobTable,
        admission: Admission,
        dispatcher: Dispatcher,
        topics: Topics,
        results: ResultStore,
        membership: Membership,
        counters: RouterCounters,
        refused: Counter[str],
    ) -> None:
        self.storage_error = ""
        self._facts = facts
        self._table = table
        self._admission = admission
        self._dispatcher = dispatcher
        self._topics = topics
        self._results = results
        self._membership = membership
        self._counters = counters
        self._refused = refused

    def status(self, asked: StatusRequest, desired_workers: int, now: float) -> Status:
        """The state of everything at this moment."""
        facts = self._facts
        return Status(
            request_id=asked.request_id,
            version=facts.version,
            epoch=facts.epoch,
            uptime_s=round(now - facts.started_at, 3),
            model=facts.model,
            max_context=facts.max_context,
            vocab_size=facts.vocab_size,
            has_chat_template=facts.has_chat_template,
            fingerprint=facts.fingerprint,
            draining=self._admission.is_closed,
            desired_workers=desired_workers,
            jobs=self._table.counts(self._dispatcher.num_waiting),
            workers=[worker.status(now) for worker in self._dispatcher.workers],
            refused=dict(self._refused),
            refused_workers=self._membership.refusals,
            storage_error=self.storage_error,
            held=self._held(now),
            totals=self._counters.totals() if asked.with_totals else None,
        )

    def _held(self, now: float) -> Held:
        waiting = self._dispatcher.queue.load
        oldest_at = min((job.arrived_at for job in self._dispatcher.queue), default=now)
        return Held(
            arrivals=len(self._admission.pending),
            live_jobs=len(self._table.live),
            dispatches=self._dispatcher.workers.num_dispatches,
            topics=len(self._topics),
            waiting_tokens=waiting.num_tokens,
            waiting_bytes=waiting.num_bytes,
            ended_jobs=len(self._table.ended),
            result_bytes=self._results.num_bytes,
            oldest_waiting_s=round(now - oldest_at, 3),
        )


def without_tenants(status: Status) -> Status:
    """The same without what tenants spent, which is for operators."""
    workers = [
        msgspec.structs.replace(worker, spent=[row for row in worker.spent if row.tenant is None])
        if worker.spent
        else worker
        for worker in status.workers
    ]
    return msgspec.structs.replace(status, workers=workers)

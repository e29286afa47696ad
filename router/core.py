"""The router without its sockets: events in, effects out.

    client message ──> Admission ──> JobQueue ──> Dispatcher ──> worker
    worker report  ──> WorkerReports ──> TokenLog ──> Streams ──> subscribers
                            └──> Escalations ──> cloud worker
                            └──> JobFinisher ──> Finished

Time is an argument, in seconds of one monotonic clock. Every method returns the effects of its event, in the
order in which they must be performed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from cactus_actors.config import RouterSettings
from cactus_actors.process.leaving_node import LeavingNode
from cactus_actors.protocol.errors import CactusError, DeadlineExceeded, ModelFailure, Unavailable
from cactus_actors.protocol.messages import ClientMessage, Status, StatusRequest
from cactus_actors.protocol.shown_paths import without_directories
from cactus_actors.protocol.wire import Encoding, MessageIds
from cactus_actors.protocol.worker_messages import WorkerMessage
from cactus_actors.router.effects import Effect
from cactus_actors.router.lifecycle.adapter_requests import AdapterRequests
from cactus_actors.router.lifecycle.admission import Admission
from cactus_actors.router.lifecycle.audit_sampler import AuditSampler
from cactus_actors.router.lifecycle.client_messages import ClientMessages
from cactus_actors.router.lifecycle.cloud_batch_requests import CloudBatchRequests
from cactus_actors.router.lifecycle.escalations import Escalations
from cactus_actors.router.lifecycle.job_factory import JobFactory
from cactus_actors.router.lifecycle.job_finisher import JobFinisher
from cactus_actors.router.lifecycle.journal_writer import JournalWriter
from cactus_actors.router.lifecycle.membership import Membership
from cactus_actors.router.lifecycle.revocation import revoke
from cactus_actors.router.lifecycle.streams import Streams
from cactus_actors.router.lifecycle.subscribers import Subscribers
from cactus_actors.router.lifecycle.tiers import TierSwitch
from cactus_actors.router.lifecycle.worker_reports import WorkerReports
from cactus_actors.router.router_state import RouterOptions, RouterState
from cactus_actors.router.scheduling.autoscaler import Autoscaler
from cactus_actors.router.scheduling.model_demand import ModelDemand
from cactus_actors.router.scheduling.model_fleet import LoadFailure, ModelFleet
from cactus_actors.router.state.caller import ANONYMOUS, Caller, RevokedKey
from cactus_actors.router.state.deferred_messages import DeferredMessage
from cactus_actors.router.state.journal_records import AcceptedRecord, Recovered, RecoveredEnd, StoredResult
from cactus_actors.router.state.prepared_request import PreparedRequest
from cactus_actors.router.state.service_facts import ServiceFacts


class RouterCore:
    """Makes every decision of the router.

    Every `PrepareRequest` effect is answered by `on_prepared`. With a journal every `WriteJournal` effect is
    performed, that of an accepted job is answered by `on_journaled` or `on_journal_failed`, and each `LoadResult`
    by `on_result_loaded`.
    """

    def __init__(self, settings: RouterSettings, facts: ServiceFacts, options: RouterOptions | None = None) -> None:
        state = self.state = RouterState(settings, facts, options or RouterOptions())
        self._outbox = state.outbox
        self._fleets = state.fleets
        self._streams = Streams(state)
        self._journal_writer = JournalWriter(state)
        factory = JobFactory(state)
        audit_sampler, tiers = AuditSampler(state, factory), TierSwitch(state, self._journal_writer)
        self._finisher = JobFinisher(state, self._streams, self._journal_writer, audit_sampler, tiers)
        self._admission = Admission(state, self._streams, self._journal_writer, factory)
        self._escalations = Escalations(state, self._streams, self._finisher, tiers)
        self._worker_reports = WorkerReports(state, self._streams, self._escalations, audit_sampler)
        self._adapters = AdapterRequests(state)
        cloud_batches = CloudBatchRequests(state)
        self._membership = Membership(state, self._worker_reports, self._adapters, cloud_batches)
        self._client_messages = ClientMessages(state, self._admission, self._finisher, self._adapters, cloud_batches)
        self._subscribers = Subscribers(state, self._streams)
        self._demand = ModelDemand(state.fleets, settings.max_model_bytes)
        self._autoscaler = Autoscaler(state.fleets, settings.scaling, settings.max_model_bytes)

    @property
    def num_unfinished(self) -> int:
        return len(self.state.jobs.live)

    @property
    def is_drained(self) -> bool:
        """True if it takes no new jobs and has finished the old ones."""
        return self.state.is_draining and not self._has_jobs

    @property
    def is_at_rest(self) -> bool:
        """True if it has no job, is not stopping, and no worker is expected to start or leave."""
        if self._has_jobs or self.state.is_draining:
            return False
        return all(fleet.is_complete for fleet in self._fleets)

    @property
    def num_queued(self) -> int:
        return self._fleets.num_waiting

    @property
    def ready_workers(self) -> tuple[str, ...]:
        """The workers that take jobs; of each model, those last that may leave first."""
        return tuple(self._fleets.workers_to_keep)

    @property
    def _has_jobs(self) -> bool:
        return bool(self.state.jobs.live or self.state.pending)

    def on_client(
        self,
        identity: bytes,
        message: ClientMessage,
        encoding: Encoding,
        now: float,
        caller: Caller = ANONYMOUS,
        frames: Sequence[bytes] = (),
    ) -> list[Effect]:
        """Handle a client's message, with the frames that follow it; an invalid one is answered with Rejected."""
        self._client_messages.receive(DeferredMessage(identity, message, encoding, caller, tuple(frames)), now)
        self._pump(now)
        return self._outbox.drain()

    def on_prepared(self, job_id: str, outcome: PreparedRequest | CactusError, now: float) -> list[Effect]:
        """Handle the end of a preparation: the prepared request of a job, or the error that refuses it."""
        return self.on_prepared_together([(job_id, outcome)], now)

    def on_prepared_together(
        self, outcomes: Sequence[tuple[str, PreparedRequest | CactusError]], now: float
    ) -> list[Effect]:
        """Handle the ends of the preparations of these jobs."""
        for job_id, outcome in outcomes:
            self._admission.on_prepared(job_id, outcome, now)
            self._client_messages.on_prepared(job_id, now)
        self._pump(now)
        return self._outbox.drain()

    def recover(self, jobs: Sequence[Recovered], now: float) -> list[Effect]:
        """Take over the jobs of an earlier router; called before anything else."""
        ended = [job for job in jobs if isinstance(job, RecoveredEnd)]
        for job in sorted(ended, key=lambda job: job.ended.ended_at):
            ended_at = self._journal_writer.own_time(job.ended.ended_at, now)
            self.state.jobs.restore(job.job_id, msgspec.structs.replace(job.ended, ended_at=ended_at))
            self._journal_writer.restored(job.job_id, job.pictures, is_live=False)
        self._journal_writer.forget(self.state.jobs.forget_old(now))
        for record in jobs:
            if isinstance(record, AcceptedRecord):
                self._journal_writer.restored(record.submit.job_id, record.pictures, is_live=True)
                self._admission.restore(record, now)
        return self._outbox.drain()

    def on_result_loaded(self, job_id: str, result: StoredResult | None, now: float) -> list[Effect]:
        """Handle a result from the journal; `result` is None if the job cannot be read there."""
        if result is not None and job_id in self.state.jobs.ended:
            self.state.results.add(job_id, result, is_written=True)
        self._client_messages.on_result_loaded(job_id, result, now)
        return self._outbox.drain()

    def on_results_written(self, job_ids: Sequence[str]) -> None:
        """Record that the journal holds the ends of these jobs."""
        self.state.results.on_written(job_ids)

    def on_journaled(self, job_ids: Sequence[str], now: float) -> list[Effect]:
        """Accept these jobs, or go on with their streams at another model: the journal holds that."""
        self.state.storage_error = ""
        for job, ending in self._admission.on_journaled(job_ids, now):
            self._escalations.on_local_end(job, ending, now)
        self._pump(now)
        return self._outbox.drain()

    def on_journal_failed(self, job_ids: Sequence[str], reason: str, now: float) -> list[Effect]:
        """Refuse these jobs: the journal could not write them, or the ends of others."""
        self.state.storage_error = reason
        self._admission.on_journal_failed(job_ids, reason)
        self._pump(now)
        return self._outbox.drain()

    def on_bad_frames(self, identity: bytes, error: CactusError, encoding: Encoding, ids: MessageIds) -> list[Effect]:
        """Answer a client's frames that are not a message, or that it may not send."""
        self._client_messages.refuse_frames(identity, error, encoding, ids)
        return self._outbox.drain()

    def on_bad_worker_frames(self) -> None:
        """Count frames on the worker socket that are not a worker's message."""
        self.state.counters.bad_frames["worker_message"] += 1

    def on_bad_topic(self) -> None:
        """Refuse a connection's subscription to a topic that is not a job id."""
        self.state.counters.bad_frames["topic"] += 1

    def on_worker(self, identity: bytes, message: WorkerMessage, now: float) -> list[Effect]:
        """Handle a worker's message; any message shows that it is alive."""
        return self.on_workers([(identity, message)], now)

    def on_workers(self, messages: Sequence[tuple[bytes, WorkerMessage]], now: float) -> list[Effect]:
        """Handle messages of workers; tokens of one job that arrive together are published together."""
        self._streams.begin_batch()
        try:
            for identity, message in messages:
                self._membership.handle(identity, message, now)
        finally:
            self._streams.end_batch(now)
        self._pump(now)
        self._membership.grant_credit({identity for identity, _ in messages})
        return self._outbox.drain()

    def on_worker_lost(self, worker_id: str, now: float) -> list[Effect]:
        """Handle the end of this worker's process, as the supervisor reports it."""
        self._worker_reports.on_worker_gone(self._fleets.by_id(worker_id), "died", now)
        self._pump(now)
        return self._outbox.drain()

    def follow_nodes(self, taken: Sequence[LeavingNode], gone: Sequence[str]) -> None:
        """Record the nodes that the cluster takes, and the ids of those that it no longer has."""
        self.state.leaving_nodes.follow(taken, gone)

    def on_load_failed(self, model: str, reason: str, now: float) -> list[Effect]:
        """Have other models answer the jobs of cascades that wait for a model whose workers do not start.

        Of a model on demand the other jobs end, and the next one tries again; they wait for any other model. Clients
        learn the reason without the directories of the server.
        """
        fleet = self._fleets.registered(model)
        if fleet is not None and fleet.is_awaited:
            error = ModelFailure(f"the model cannot be loaded: {without_directories(reason)}")
            fleet.load_failure = LoadFailure(error, now)
            for job in fleet.dispatcher.waiting:
                if fleet.is_on_demand or job.submission.is_cascade:
                    self._escalations.on_no_workers(job, error, now)
            if fleet.is_on_demand:
                fleet.unload()
            self._pump(now)
        return self._outbox.drain()

    def on_worker_unreachable(self, identity: bytes, now: float) -> list[Effect]:
        """Handle the end of a worker's connection: a command could not be sent."""
        self._worker_reports.on_worker_gone(self._fleets.by_identity(identity), "unreachable", now)
        self._pump(now)
        return self._outbox.drain()

    def on_subscribed(self, topic: str, now: float, caller: Caller = ANONYMOUS) -> tuple[bool, list[Effect]]:
        """Subscribe a caller to a job; False if that is not granted."""
        return self._subscribers.authorize(topic, caller, now), self._outbox.drain()

    def on_listener(self, topic: str, now: float, caller: Caller, refusal: str | None) -> list[Effect]:
        """Record a subscription of a caller that the edge process granted or refused."""
        self._subscribers.record(topic, caller, refusal, now)
        return self._outbox.drain()

    def on_unsubscribed(self, topic: str, caller: Caller | None = None) -> None:
        """Record the end of a subscription; `caller` is None if its connection has ended."""
        self.state.topics.unsubscribe(topic, caller)

    def owners(self) -> Iterator[tuple[str, str]]:
        """Every job that belongs to a tenant and has not ended, and its tenant."""
        return self._admission.owners()

    def on_edge_lost(self) -> None:
        """Record that every connection of a client has ended; clients that still listen subscribe again."""
        self.state.topics.clear()
        self.state.counters.num_lost_edges += 1

    def on_revoked(self, revoked: RevokedKey, now: float) -> list[Effect]:
        """Handle a revoked key, whose connections are closed."""
        for identity in revoked.workers:
            self._worker_reports.on_worker_gone(self._fleets.by_identity(identity), None, now)
        self._client_messages.drop_deferred(revoked.clients)
        revoke(revoked, self.state, self._finisher, now)
        self._pump(now)
        return self._outbox.drain()

    def on_loop_delayed(self, seconds: float, now: float) -> None:
        """Do not count these seconds as silence of any worker: the router itself was late."""
        for fleet in self._fleets:
            fleet.dispatcher.workers.excuse(seconds, now)

    def on_tick(self, now: float) -> list[Effect]:
        """Act on the passing of time; called several times a second, after pending messages are handled."""
        for fleet in self._fleets:
            for worker in fleet.dispatcher.workers.silent(self.state.settings.worker_timeout_s, now):
                self._worker_reports.on_worker_gone(worker, "silent", now)
        for job in self.state.jobs.overdue(now):
            seconds = job.prepared.policy.timeout_s
            error = DeadlineExceeded(f"the job did not end within its timeout of {seconds:g} s", param="timeout_ms")
            self._finisher.fail(job, error, now)
        self._membership.on_tick(now)
        self._adapters.on_tick()
        self._escalations.pump(now)
        self._journal_writer.forget(self.state.jobs.forget_old(now))
        self._streams.on_tick(self.state.jobs.live, now)
        for fleet in self._fleets:
            self._leave_unusable(fleet, now)
        self.state.leaving_nodes.on_tick()
        self._autoscaler.on_tick(now)
        self._demand.on_tick(now)
        for fleet in self._fleets:
            fleet.dispatcher.reconsider(now)
        self._pump(now)
        return self._outbox.drain()

    def _leave_unusable(self, fleet: ModelFleet, now: float) -> None:
        """Have other models answer the jobs of cascades that wait for a model without workers to come."""
        if fleet.dispatcher.workers.local:
            fleet.load_failure = None
        elif fleet.dispatcher.num_waiting and (error := fleet.why_unusable(now)) is not None:
            for job in fleet.dispatcher.waiting:
                if self._escalations.has_other_model(job):
                    self._escalations.on_no_workers(job, error, now)

    def _pump(self, now: float) -> None:
        """Dispatch waiting jobs, and end those that can no longer meet their deadline."""
        for fleet in self._fleets:
            dispatcher = fleet.dispatcher
            if not dispatcher.num_waiting:
                continue
            dispatcher.pump(now)
            while late := dispatcher.take_late():
                for job in late:
                    text = f"the job cannot end within its timeout of {job.prepared.policy.timeout_s:g} s"
                    self._finisher.fail(job, DeadlineExceeded(text, param="timeout_ms"), now)
                dispatcher.pump(now)

    def close_admission(self) -> None:
        """Refuse new jobs from now on; accepted ones continue."""
        self.state.is_draining = True

    def on_stop(self, now: float, *, leaves_jobs: bool = False) -> list[Effect]:
        """End every job that is left.

        With `leaves_jobs` the jobs in the journal are left to the next router that reads it.
        """
        self.close_admission()
        self._admission.on_stop()
        error = Unavailable("the service was stopped", retry_after=5.0)
        for job in list(self.state.jobs.live.values()):
            if not (leaves_jobs and self.state.has_journal):
                self._finisher.fail(job, error, now)
        return self._outbox.drain()

    def status(self, now: float, request_id: str = "", *, with_totals: bool = False) -> Status:
        """The state of the service at this moment."""
        request = StatusRequest(request_id=request_id, with_totals=with_totals)
        return self._client_messages.operator.status(request, now)

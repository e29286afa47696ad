"""The router without its sockets: events in, effects out.

    client message ──> Admission ──> JobQueue ──> Dispatcher ──> worker
    worker report  ──> WorkerReports ──> TokenLog ──> Streams ──> subscribers
                            └──> Escalations ──> cloud worker
                            └──> JobFinisher ──> Finished

Time is an argument, in seconds of one monotonic clock. Every method returns the effects of its event, in the
order in which they must be carried out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from cactus_actors.config import RouterSettings
from cactus_actors.protocol.confidence import Probe, signal_named
from cactus_actors.protocol.errors import CactusError, DeadlineExceeded, Unavailable
from cactus_actors.protocol.messages import ClientMessage, Status, StatusRequest
from cactus_actors.protocol.wire import Concerns, Encoding
from cactus_actors.protocol.worker_messages import WorkerMessage
from cactus_actors.router.effects import Effect, Outbox
from cactus_actors.router.lifecycle.admission import Admission, CacheSalt, plain_cache_salt
from cactus_actors.router.lifecycle.client_messages import ClientMessages
from cactus_actors.router.lifecycle.escalations import Escalations
from cactus_actors.router.lifecycle.job_finisher import JobFinisher
from cactus_actors.router.lifecycle.journal_writer import JournalWriter
from cactus_actors.router.lifecycle.membership import Membership, ServiceModel
from cactus_actors.router.lifecycle.result_loader import ResultLoader
from cactus_actors.router.lifecycle.revocation import revoke
from cactus_actors.router.lifecycle.service_status import ServiceFacts, ServiceStatus
from cactus_actors.router.lifecycle.streams import Streams
from cactus_actors.router.lifecycle.subscribers import Subscribers
from cactus_actors.router.lifecycle.worker_reports import WorkerReports
from cactus_actors.router.lifecycle.worker_sessions import WorkerSessions
from cactus_actors.router.scheduling.dispatcher import Dispatcher
from cactus_actors.router.state.caller import ANONYMOUS, Caller, RevokedKey
from cactus_actors.router.state.job_table import JobTable
from cactus_actors.router.state.journal_records import AcceptedRecord, Recovered, RecoveredEnd, StoredResult
from cactus_actors.router.state.prepared_request import PreparedRequest
from cactus_actors.router.state.result_store import ResultStore
from cactus_actors.router.state.token_logprobs import TokenDecoder
from cactus_actors.router.state.topics import Topics
from cactus_actors.router.telemetry.counters import RouterCounters


class RouterCore:
    """Every decision of the router.

    Every `Prepare` effect is answered by `on_prepared`. With `unix_offset`, which added to `now` gives Unix
    seconds, jobs are kept in a journal: `Keep` effects must be carried out, each accepted job's answered by
    `on_journaled` or `on_journal_failed`, each `Recall` by `on_result_loaded`. `texts` tells what tokens stand for, in
    log probabilities. `salt` keeps the prefix caches of tenants apart; `refused` counts, by reason, what
    callers had no right to. `probe` is the model's, which the confidence signal of that name needs,
    `fingerprint` that of its files: workers with another one are refused.
    """

    def __init__(
        self,
        settings: RouterSettings,
        *,
        epoch: int,
        now: float,
        model: str = "",
        fingerprint: str = "",
        max_context: int = 0,
        vocab_size: int = 0,
        has_chat_template: bool = True,
        version: str = "",
        unix_offset: float | None = None,
        texts: TokenDecoder | None = None,
        salt: CacheSalt = plain_cache_salt,
        refused: Counter[str] | None = None,
        probe: Probe | None = None,
    ) -> None:
        refused = Counter() if refused is None else refused
        self._settings = settings
        self._epoch = epoch

        self._outbox = Outbox()
        self._counters = RouterCounters()
        self._table = JobTable(settings.retention_s, settings.keyed_retention_s)
        self._topics = Topics()
        self._streams = Streams(self._outbox, self._topics, self._counters, epoch)
        self._listeners = Subscribers(self._table, self._topics, self._streams, refused)
        self._dispatcher = Dispatcher(settings, self._outbox, self._counters)
        has_journal = unix_offset is not None
        self._results = ResultStore(settings.max_result_bytes, has_journal=has_journal)
        self._result_loader = ResultLoader(self._results, self._outbox, epoch, has_journal=has_journal)
        self._journal_writer = JournalWriter(self._outbox, self._results, unix_offset)
        self._admission = Admission(
            self._table,
            self._dispatcher,
            self._streams,
            self._outbox,
            self._journal_writer,
            self._result_loader,
            self._counters,
            epoch,
            salt,
            texts,
            settings.accounts,
            settings.job_timeout_s,
        )
        self._finisher = JobFinisher(
            self._table,
            self._dispatcher,
            self._streams,
            self._outbox,
            self._journal_writer,
            self._counters,
            epoch,
            settings.confidence_signal,
            probe,
        )
        self._escalations = Escalations(
            self._table,
            self._dispatcher,
            self._streams,
            self._finisher,
            self._counters,
            settings.commit_tokens,
            signal_named(settings.confidence_signal, probe),
            settings.max_handoff_share,
            settings.max_handoff_wait_s,
            has_cloud=settings.has_cloud,
        )
        self._worker_reports = WorkerReports(
            self._table,
            self._dispatcher,
            self._streams,
            self._finisher,
            self._escalations,
            self._outbox,
            self._counters,
            settings.max_attempts,
        )
        self._membership = Membership(
            ServiceModel(
                name=model,
                fingerprint=fingerprint,
                weights=settings.weights or "",
                kv_cache=settings.kv_cache or "",
            ),
            self._dispatcher.workers,
            self._worker_reports,
            self._outbox,
            refused,
            epoch,
        )
        self._worker_sessions = WorkerSessions(
            self._membership,
            self._dispatcher.workers,
            self._worker_reports,
            self._escalations,
            self._streams,
            self._outbox,
            self._counters,
            epoch,
        )
        facts = ServiceFacts(
            version=version,
            epoch=epoch,
            started_at=now,
            model=model,
            max_context=max_context,
            vocab_size=vocab_size,
            has_chat_template=has_chat_template,
            fingerprint=fingerprint,
        )
        self._service_status = ServiceStatus(
            facts,
            self._table,
            self._admission,
            self._dispatcher,
            self._topics,
            self._results,
            self._membership,
            self._counters,
            refused,
        )
        self._requests = ClientMessages(
            self._table,
            self._admission,
            self._topics,
            self._streams,
            self._finisher,
            self._result_loader,
            self._outbox,
            self._counters,
            refused,
            self._read_status,
            settings.desired_workers,
        )

    @property
    def desired_workers(self) -> int:
        return self._requests.desired_workers

    @property
    def num_restarts_requested(self) -> int:
        return self._requests.num_restarts_requested

    @property
    def num_unfinished(self) -> int:
        return len(self._table.live)

    @property
    def is_drained(self) -> bool:
        """Whether it takes no new jobs and has finished the old ones."""
        return self._admission.is_closed and not self._table.live and not self._admission.pending

    @property
    def is_at_rest(self) -> bool:
        """Whether nothing is under way: no job, no end, no worker that is yet to come or go."""
        if self._table.live or self._admission.pending or self._admission.is_closed:
            return False
        return len(self._dispatcher.workers.local) == self.desired_workers

    @property
    def num_queued(self) -> int:
        return self._dispatcher.num_waiting

    @property
    def ready_workers(self) -> tuple[str, ...]:
        return tuple(self._dispatcher.workers.local)

    def on_client(
        self,
        identity: bytes,
        message: ClientMessage,
        encoding: Encoding,
        now: float,
        caller: Caller = ANONYMOUS,
    ) -> list[Effect]:
        """A client's request; whatever is wrong with it is answered with Rejected."""
        self._requests.receive(identity, message, encoding, now, caller)
        self._pump(now)
        return self._outbox.drain()

    def on_prepared(self, ticket: int, outcome: PreparedRequest | CactusError, now: float) -> list[Effect]:
        """A request is prepared, or refused for a reason."""
        self._admission.on_prepared(ticket, outcome, now)
        self._pump(now)
        return self._outbox.drain()

    def recover(self, jobs: Sequence[Recovered], now: float) -> list[Effect]:
        """Take over what an earlier router had accepted; to be called before anything else."""
        ended = [job for job in jobs if isinstance(job, RecoveredEnd)]
        for job in sorted(ended, key=lambda job: job.ended_at):
            self._table.restore(job.job_id, self._journal_writer.ended_job(job, now))
        self._journal_writer.forgotten(self._table.forget_old(now))
        for record in jobs:
            if isinstance(record, AcceptedRecord):
                self._admission.restore(record, now)
        return self._outbox.drain()

    def on_result_loaded(self, job_id: str, found: StoredResult | None, now: float) -> list[Effect]:
        """The journal was read; None if that job cannot be read there."""
        if found is not None and job_id in self._table.ended:
            self._results.add(job_id, found, is_written=True)
        self._result_loader.on_result_loaded(job_id, found, now)
        return self._outbox.drain()

    def on_results_written(self, job_ids: Sequence[str]) -> None:
        """The journal holds the ends of these jobs."""
        self._results.on_written(job_ids)

    def on_journaled(self, job_ids: Sequence[str], now: float) -> list[Effect]:
        """The journal holds these jobs, and can be written."""
        self._service_status.storage_error = ""
        self._admission.on_journaled(job_ids)
        self._pump(now)
        return self._outbox.drain()

    def on_journal_failed(self, job_ids: Sequence[str], reason: str) -> list[Effect]:
        """The journal could not write these jobs, or an end of others."""
        self._service_status.storage_error = reason
        self._admission.on_journal_failed(job_ids, reason)
        return self._outbox.drain()

    def on_bad_frames(
        self, identity: bytes, error: CactusError, encoding: Encoding, concerns: Concerns
    ) -> list[Effect]:
        """Frames from a client that are not a message, or that are not read from it."""
        self._requests.refuse_frames(identity, error, encoding, concerns)
        return self._outbox.drain()

    def on_bad_worker_frames(self) -> None:
        """Frames on the worker socket that are not a worker's message."""
        self._counters.bad_frames["worker_message"] += 1

    def on_bad_topic(self) -> None:
        """Someone wants to listen to what can be no job."""
        self._counters.bad_frames["topic"] += 1

    def on_worker(self, identity: bytes, message: WorkerMessage, now: float) -> list[Effect]:
        """A worker's message; any message shows that it is alive."""
        return self.on_workers([(identity, message)], now)

    def on_workers(self, messages: Sequence[tuple[bytes, WorkerMessage]], now: float) -> list[Effect]:
        """What workers have said meanwhile: tokens of one job that came together are published together."""
        self._worker_sessions.handle(messages, now)
        self._pump(now)
        self._worker_sessions.grant_credit({identity for identity, _ in messages})
        return self._outbox.drain()

    def on_worker_lost(self, worker_id: str, now: float) -> list[Effect]:
        """Somebody who knows says that this worker's process is gone."""
        self._worker_reports.on_worker_gone(self._dispatcher.workers.by_id(worker_id), "died", now)
        self._pump(now)
        return self._outbox.drain()

    def on_worker_unreachable(self, identity: bytes, now: float) -> list[Effect]:
        """A command could not be sent: that connection is over, whoever was at its other end."""
        self._worker_reports.on_worker_gone(self._dispatcher.workers.by_identity(identity), "unreachable", now)
        self._pump(now)
        return self._outbox.drain()

    def on_subscribed(self, topic: str, now: float, caller: Caller = ANONYMOUS) -> tuple[bool, list[Effect]]:
        """Someone wants to listen to a job; False if that is not granted."""
        return self._listeners.decide(topic, caller, now), self._outbox.drain()

    def on_listener(self, topic: str, now: float, caller: Caller, refusal: str | None) -> list[Effect]:
        """Someone listens to a job, or wants to and was refused: the edge process has decided that."""
        self._listeners.note(topic, caller, refusal, now)
        return self._outbox.drain()

    def on_unsubscribed(self, topic: str, caller: Caller | None = None) -> None:
        """Someone listens no longer; `caller` is None for a connection that has ended."""
        self._topics.unsubscribe(topic, caller)

    def owners(self) -> Iterator[tuple[str, str]]:
        """Every job that belongs to a tenant and has not ended, and its tenant."""
        return self._admission.owners()

    def on_edge_lost(self) -> None:
        """Every connection of a client has ended: who still listens will subscribe anew."""
        self._topics.clear()
        self._counters.num_lost_edges += 1

    def on_revoked(self, revoked: RevokedKey, now: float) -> list[Effect]:
        """A key is accepted no more, and its connections are over or will be."""
        for identity in revoked.workers:
            self._worker_reports.on_worker_gone(self._dispatcher.workers.by_identity(identity), None, now)
        revoke(revoked, self._admission.pending, self._table, self._finisher, self._outbox, now)
        self._pump(now)
        return self._outbox.drain()

    def on_loop_delayed(self, seconds: float, now: float) -> None:
        """So much of the time that has just passed counts against no worker that was not heard meanwhile."""
        self._dispatcher.workers.excuse(seconds, now)

    def on_tick(self, now: float) -> list[Effect]:
        """What the passing of time brings; to be called several times a second, after pending messages."""
        for worker in self._dispatcher.workers.silent(self._settings.worker_timeout_s, now):
            self._worker_reports.on_worker_gone(worker, "silent", now)
        for job in self._table.overdue(now):
            seconds = job.prepared.policy.timeout_s
            error = DeadlineExceeded(f"the job's {seconds:g} s are over", param="timeout_ms")
            self._finisher.fail(job, error, now)
        self._membership.on_tick(now)
        self._escalations.pump(now)
        self._journal_writer.forgotten(self._table.forget_old(now))
        self._streams.on_tick(self._table.live, now)
        self._dispatcher.look_again(now)
        self._pump(now)
        return self._outbox.drain()

    def _pump(self, now: float) -> None:
        """Send what can be sent, and end what could not end in time any more."""
        self._dispatcher.pump(now)
        while late := self._dispatcher.take_late():
            for job in late:
                seconds = job.prepared.policy.timeout_s
                error = DeadlineExceeded(f"the job cannot end within its {seconds:g} s", param="timeout_ms")
                self._finisher.fail(job, error, now)
            self._dispatcher.pump(now)

    def close_admission(self) -> None:
        """Refuse new jobs from now on; accepted ones go on."""
        self._admission.is_closed = True

    def on_stop(self, now: float, *, leaves_jobs: bool = False) -> list[Effect]:
        """End every job that is left: nobody will run it.

        With `leaves_jobs` those that the journal holds stay as they are, for the next router that reads it.
        """
        self.close_admission()
        self._admission.on_stop()
        error = Unavailable("the service was stopped", retry_after=5.0)
        for job in list(self._table.live.values()):
            if not (leaves_jobs and self._journal_writer.is_enabled):
                self._finisher.fail(job, error, now)
        return self._outbox.drain()

    def status(self, now: float, request_id: str = "", *, with_totals: bool = False) -> Status:
        """What the service is doing now."""
        return self._read_status(StatusRequest(request_id=request_id, with_totals=with_totals), now)

    def _read_status(self, asked: StatusRequest, now: float) -> Status:
        return self._service_status.status(asked, self._requests.desired_workers, now)

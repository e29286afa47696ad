"""Answers the messages of clients, now or when the job that a message is about is ready."""

from __future__ import annotations

from cactus_actors.protocol.errors import CactusError, JobConflict
from cactus_actors.protocol.messages import (
    AskCloudBatch,
    Cancel,
    ClientMessage,
    DrainNode,
    Fetch,
    LoadAdapter,
    OperatorMessage,
    Pending,
    Restart,
    Resume,
    Scale,
    StatusRequest,
    Submit,
    UnloadAdapter,
)
from cactus_actors.protocol.wire import Encoding, MessageIds
from cactus_actors.router.auth.request_rate_limits import RequestRateLimits
from cactus_actors.router.lifecycle.adapter_requests import AdapterRequests
from cactus_actors.router.lifecycle.admission import Admission
from cactus_actors.router.lifecycle.cloud_batch_requests import CloudBatchRequests
from cactus_actors.router.lifecycle.job_finisher import JobFinisher
from cactus_actors.router.lifecycle.operator_requests import OperatorRequests
from cactus_actors.router.lifecycle.replays import Replays
from cactus_actors.router.lifecycle.result_loader import ResultLoader
from cactus_actors.router.router_state import RouterState
from cactus_actors.router.state.caller import Caller
from cactus_actors.router.state.deferred_messages import DeferralLimits, DeferredMessage, DeferredMessages
from cactus_actors.router.state.ended_jobs import EndedJob
from cactus_actors.router.state.job import attach
from cactus_actors.router.state.journal_records import StoredResult
from cactus_actors.router.state.local_run import JobEnding

MAX_DEFERRED = 64
"""Messages that may wait until one job is prepared."""


class ClientMessages:
    """Handles each message; a message about a job that is being prepared or loaded is deferred until then."""

    def __init__(
        self,
        state: RouterState,
        admission: Admission,
        finisher: JobFinisher,
        adapters: AdapterRequests,
        cloud_batches: CloudBatchRequests,
    ) -> None:
        self.operator = OperatorRequests(state)
        self._cloud_batches = cloud_batches
        self._adapters = adapters
        self._state = state
        self._admission = admission
        self._finisher = finisher
        self._replays = Replays(state)
        self._rate_limits = RequestRateLimits()
        self._unprepared = DeferredMessages(
            DeferralLimits(about_job=MAX_DEFERRED),
            "too many questions wait until this job is prepared",
            merges_repeats=False,
        )
        self.loader = ResultLoader(state.outbox, state.options.load_limits)

    def receive(self, received: DeferredMessage, now: float) -> None:
        """Handle a new message, within the rate limits of its client."""
        try:
            self._rate_limits.check(received.requester, received.message, now)
        except CactusError as error:
            self._reject(received.identity, error, received.encoding, _ids_of(received.message))
        else:
            self._handle(received, now)

    def on_prepared(self, job_id: str, now: float) -> None:
        """Handle the messages that waited for the preparation of this job."""
        for message in self._unprepared.take(job_id):
            self._handle(message, now)

    def on_result_loaded(self, job_id: str, result: StoredResult | None, now: float) -> None:
        """Handle the messages that waited for a result; it is None if the journal does not have it."""
        with self._state.results.loaded(job_id, result):
            for message in self.loader.waiting.take(job_id):
                self._handle(message, now)
        self.loader.on_loaded(job_id)

    def drop_deferred(self, identities: frozenset[bytes]) -> None:
        """Drop the deferred messages of these connections."""
        self._unprepared.drop(identities)
        self.loader.waiting.drop(identities)

    def refuse_frames(self, identity: bytes, error: CactusError, encoding: Encoding, ids: MessageIds) -> None:
        """Answer frames that are not a message, or that this client may not send."""
        self._state.counters.bad_frames[error.type] += 1
        self._reject(identity, error, encoding, ids)

    def _handle(self, asked: DeferredMessage, now: float) -> None:
        """Answer or defer a message; an invalid one is answered with Rejected."""
        message = asked.message
        try:
            match message:
                case Cancel() | Resume() | Fetch() if self._is_pending(message.job_id, asked.caller):
                    self._unprepared.defer(message.job_id, asked)
                case Submit() | Resume() | Fetch() if self._must_load(message.job_id, asked.caller):
                    self.loader.load(message.job_id, asked)
                case _:
                    self._answer(asked, now)
        except CactusError as error:
            self._reject(asked.identity, error, asked.encoding, _ids_of(message))

    def _answer(self, asked: DeferredMessage, now: float) -> None:
        identity, encoding, caller = asked.identity, asked.encoding, asked.caller
        match asked.message:
            case Submit() as submit:
                if not self._may_submit(submit.job_id, caller.tenant):
                    raise JobConflict("this job_id is in use", param="job_id")
                self._admission.submit(identity, submit, encoding, now, caller, asked.frames)
            case Cancel(job_id=job_id):
                job = self._state.jobs.find(job_id, caller.tenant)
                ended = job if isinstance(job, EndedJob) else self._finisher.finish(job, JobEnding("cancelled"), now)
                pending = Pending(job_id=job_id, state=ended.state, length=ended.length)
                self._state.outbox.reply(identity, pending, encoding)
            case Resume() as resume:
                self._state.outbox.reply(identity, self._replays.replay(resume, caller.tenant), encoding)
            case Fetch() as fetch:
                self._fetch(identity, fetch, encoding, caller)
            case StatusRequest() | Scale() | Restart() | DrainNode() as request:
                self._state.outbox.reply(identity, self.operator.answer(request, caller, now), encoding)
            case LoadAdapter() as request:
                self.operator.check(caller)
                self._adapters.load(identity, request, encoding)
            case UnloadAdapter() as request:
                self.operator.check(caller)
                self._adapters.unload(identity, request, encoding)
            case AskCloudBatch() as request:
                self._cloud_batches.ask(identity, request, encoding, caller)

    def _fetch(self, identity: bytes, fetch: Fetch, encoding: Encoding, caller: Caller) -> None:
        job = self._state.jobs.find(fetch.job_id, caller.tenant)
        if isinstance(job, EndedJob):
            stored = self._state.results.result_of(fetch.job_id)
            self._state.outbox.reply(identity, stored.ended.finished, encoding)
        elif fetch.wait:
            attach(job.attached, identity, encoding)
        else:
            pending = Pending(job_id=job.job_id, state=job.state, length=job.length)
            self._state.outbox.reply(identity, pending, encoding)

    def _reject(self, identity: bytes, error: CactusError, encoding: Encoding, ids: MessageIds) -> None:
        self._state.jobs.count("rejected")
        self._state.counters.rejected[error.type] += 1
        job_id = ids.job_id and ids.job_id[:64]
        self._state.outbox.reject(identity, error, encoding, job_id=job_id, request_id=ids.request_id)

    def _is_pending(self, job_id: str, caller: Caller) -> bool:
        pending = self._state.pending.get(job_id)
        return pending is not None and pending.tenant == caller.tenant

    def _must_load(self, job_id: str, caller: Caller) -> bool:
        """True if an answer about this job needs a result that is only in the journal."""
        ended = self._state.jobs.ended.get(job_id)
        return ended is not None and ended.tenant == caller.tenant and self._state.results.must_load(job_id)

    def _may_submit(self, job_id: str, tenant: str) -> bool:
        """True if the job is one of the tenant's, or no other tenant listens to that id."""
        known = self._state.jobs.get(job_id)
        is_own = known is not None and known.tenant == tenant
        return is_own or self._state.topics.is_free(job_id, tenant)


def _ids_of(message: ClientMessage) -> MessageIds:
    if isinstance(message, StatusRequest | OperatorMessage | AskCloudBatch):
        return MessageIds(request_id=message.request_id)
    return MessageIds(job_id=message.job_id)

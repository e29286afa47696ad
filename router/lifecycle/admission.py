"""Accepting jobs: the same id is the same job, and overload is an answer."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from cactus_actors.protocol.block_hashes import block_hashes
from cactus_actors.protocol.errors import (
    CactusError,
    InvalidRequest,
    JobConflict,
    StorageFailure,
    Unavailable,
)
from cactus_actors.protocol.exact_integers import text_if_inexact
from cactus_actors.protocol.key_grants import REVOKED_KEY_GRANTS, KeyGrants
from cactus_actors.protocol.messages import Accepted, Finished, Submit
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.results import Result, Source
from cactus_actors.protocol.trace_context import is_traceparent
from cactus_actors.protocol.unsendable import UNSENDABLE, unsendable
from cactus_actors.protocol.wire import Encoding, decode_submit, is_job_id
from cactus_actors.router.effects import Outbox, PrepareRequest
from cactus_actors.router.lifecycle.journal_writer import JournalWriter
from cactus_actors.router.lifecycle.result_loader import ResultLoader
from cactus_actors.router.lifecycle.streams import Streams
from cactus_actors.router.scheduling.dispatcher import Dispatcher
from cactus_actors.router.state.caller import Caller
from cactus_actors.router.state.job import EndedJob, Job, attach, share_owner
from cactus_actors.router.state.job_report import report_of_unprepared
from cactus_actors.router.state.job_table import JobTable
from cactus_actors.router.state.journal_records import AcceptedRecord
from cactus_actors.router.state.pending_submits import PendingSubmit, PendingSubmits
from cactus_actors.router.state.prepared_request import PreparedRequest
from cactus_actors.router.state.queue_load import QueueLoad, load_of_request
from cactus_actors.router.state.token_log import TokenLog
from cactus_actors.router.state.token_logprobs import TokenDecoder
from cactus_actors.router.telemetry.counters import RouterCounters

CacheSalt = Callable[[str, str], str]
"""(tenant, the client's cache salt) -> the salt under which prefixes are shared."""


class Admission:
    """Turns Submit messages into queued jobs; raises what the client is to be told."""

    def __init__(
        self,
        table: JobTable,
        dispatcher: Dispatcher,
        streams: Streams,
        outbox: Outbox,
        journal_writer: JournalWriter,
        result_loader: ResultLoader,
        counters: RouterCounters,
        epoch: int,
        salt: CacheSalt,
        texts: TokenDecoder | None,
        accounts: Mapping[str, KeyGrants],
        usual_timeout_s: float | None,
    ) -> None:
        self.is_closed = False
        self.pending = PendingSubmits()
        self._table = table
        self._dispatcher = dispatcher
        self._streams = streams
        self._outbox = outbox
        self._journal_writer = journal_writer
        self._result_loader = result_loader
        self._counters = counters
        self._epoch = epoch
        self._salt = salt
        self._texts = texts
        self._accounts = accounts
        self._num_arrived = 0
        self._usual_timeout_s = usual_timeout_s
        self._forecast = dispatcher.forecast
        self._on_way_to_disk: dict[str, Job] = {}

    def submit(self, identity: bytes, submit: Submit, encoding: Encoding, now: float, caller: Caller) -> None:
        """Have a job prepared, or attach this client to it if it is known already."""
        if not is_job_id(submit.job_id):
            raise InvalidRequest("job_id must be 32 lowercase hexadecimal characters", param="job_id")
        traceparent = submit.traceparent
        if traceparent is not None and not is_traceparent(traceparent):
            raise InvalidRequest("traceparent is not one of W3C's, version 00", param="traceparent")
        content = _content(submit)
        digest = hashlib.blake2b(content, digest_size=16).digest()
        known = self.pending.holding(submit.job_id) or self._table.get(submit.job_id)
        if known is not None:
            self._attach(identity, submit.job_id, known, digest, encoding, caller.tenant)
            return
        if self.is_closed:
            raise Unavailable("the service is draining", retry_after=5.0)
        pending = PendingSubmit(
            submit.job_id,
            content,
            digest,
            encoding,
            caller.tenant,
            now,
            requesters={identity: encoding},
            traceparent=traceparent,
            account=self._account(submit),
            grants=self._grants(submit, caller),
            is_keyed=submit.keyed,
        )
        self._note_work(pending, submit.options)
        timeout_ms = submit.options.timeout_ms
        timeout_s = None if timeout_ms is None else timeout_ms / 1000
        # Both before it costs anything; a queue that is full is no reason where a deadline means nothing.
        self._check_deadline(pending, self._timeout_s(timeout_s, pending), pending.work)
        self._dispatcher.queue.check_room(pending.load, pending.user, now)
        self._prepare(pending)

    def restore(self, record: AcceptedRecord, now: float) -> None:
        """Have a job prepared again that an earlier router accepted."""
        arrived_at = self._journal_writer.own_time(record.accepted_at, now)
        pending = PendingSubmit(
            record.submit.job_id,
            _content(record.submit),
            record.digest,
            record.encoding,
            record.tenant,
            arrived_at,
            record=record,
            traceparent=record.submit.traceparent,
            account=self._account(record.submit),
            grants=record.grants,
            is_keyed=record.submit.keyed,
        )
        self._note_work(pending, record.submit.options)
        self._prepare(pending, record.sources)

    def owners(self) -> Iterator[tuple[str, str]]:
        """Every job that belongs to a tenant and has not ended, accepted or not, and its tenant."""
        for job in (*self.pending, *self._table.live.values()):
            if job.tenant:
                yield job.job_id, job.tenant

    def on_prepared(self, ticket: int, outcome: PreparedRequest | CactusError, now: float) -> None:
        """A request is prepared, or cannot be."""
        pending = self.pending.take(ticket)
        self._dispatcher.queue.coming -= pending.load
        self._forecast.backlog.remove(pending.user, pending.work, pending.load, is_background=pending.is_background)
        outcome = pending.refusal or outcome
        try:
            if isinstance(outcome, CactusError):
                raise outcome
            self._accept(pending, outcome, now)
        except CactusError as error:
            self._refuse(pending, error, now)
        for _, ask in pending.deferred:
            ask(now)

    def on_stop(self) -> None:
        """Refuse what is still being prepared; the journal keeps what was accepted before."""
        error = Unavailable("the service was stopped", retry_after=5.0)
        for pending in self.pending.take_all():
            for identity, encoding in pending.requesters.items():
                self._outbox.reject(identity, error, encoding, job_id=pending.job_id)

    def on_journaled(self, job_ids: Sequence[str]) -> None:
        """These jobs are on disk: now they are accepted."""
        for job_id in job_ids:
            self._leave_disk_queue(job_id)
            job = self._table.live.get(job_id)
            if job is not None and not job.is_admitted:
                self._admit(job)

    def on_journal_failed(self, job_ids: Sequence[str], reason: str) -> None:
        """These jobs could not be written to disk: they are refused."""
        error = StorageFailure(f"the journal cannot be written: {reason}", retry_after=5.0)
        for job_id in job_ids:
            self._leave_disk_queue(job_id)
            job = self._table.live.get(job_id)
            if job is None or job.is_admitted:
                continue
            self._table.retract(job)
            self._outbox.disown(job_id, job.tenant)
            self._counters.rejected[error.type] += 1
            for identity, encoding in job.attached.items():
                self._outbox.reject(identity, error, encoding, job_id=job_id)

    def _accept(self, pending: PendingSubmit, prepared: PreparedRequest, now: float) -> None:
        if pending.tenant:
            prepared = _salted(prepared, self._salt(pending.tenant, prepared.policy.cache_salt))
        if not pending.grants.allow_cloud:
            prepared = _kept_here(prepared)
        timeout_s = self._timeout_s(prepared.policy.timeout_s, pending)
        if timeout_s != prepared.policy.timeout_s:
            policy = msgspec.structs.replace(prepared.policy, timeout_s=timeout_s)
            prepared = msgspec.structs.replace(prepared, policy=policy)
        load = load_of_request(pending.content, prepared)
        job = self._new_job(pending, prepared, load)
        self._forecast.on_prepared(len(pending.content), len(prepared.prompt_ids))
        if pending.record is None:
            time_left = None if timeout_s is None else timeout_s - (now - pending.arrived_at)
            self._check_deadline(pending, time_left, job.work)
            self._dispatcher.queue.check_room(load, pending.user, now)
        job.attached.update(pending.requesters)
        self._table.add(job)
        self._streams.follow(job, now)
        if self._journal_writer.is_enabled and pending.record is None:
            content = decode_submit(pending.content)
            submit = msgspec.structs.replace(content, traceparent=pending.traceparent, keyed=pending.is_keyed)
            self._journal_writer.accepted(job, submit)
            self._on_way_to_disk[job.job_id] = job
            self._dispatcher.queue.coming += load
            self._forecast.backlog.add(job.user, job.grants.weight, job.work, load, is_background=job.is_background)
        else:
            self._admit(job)

    def _refuse(self, pending: PendingSubmit, error: CactusError, now: float) -> None:
        """Tell everybody who asked; a job that an earlier router accepted ends with the reason."""
        job_id = pending.job_id
        self._outbox.disown(job_id, pending.tenant)
        if pending.record is not None:
            result = Result(finish_reason="error", success=False, error=error.info())
            finished = Finished(job_id=job_id, length=0, result=result)
            accepted = pending.record.accepted
            ended = EndedJob(pending.digest, "failed", 0, now, pending.tenant, pending.is_keyed)
            self._table.restore(job_id, ended)
            self._journal_writer.ended(ended, accepted, finished, TokenLog())
            for identity, encoding in pending.requesters.items():
                self._outbox.reply(identity, accepted, encoding)
                self._outbox.reply(identity, finished, encoding)
            seconds = now - pending.arrived_at
            submit = pending.record.submit
            report = report_of_unprepared(submit, result, pending.tenant, self._epoch, seconds)
            self._counters.on_ended(report)
            self._outbox.report_job(report)
            return
        self._table.count("rejected")
        self._counters.rejected[error.type] += 1
        for identity, encoding in pending.requesters.items():
            self._outbox.reject(identity, error, encoding, job_id=job_id)

    def _admit(self, job: Job) -> None:
        job.is_admitted = True
        self._table.count("accepted")
        self._dispatcher.queue.add(job)
        for identity, encoding in job.attached.items():
            self._outbox.reply(identity, job.accepted, encoding)

    def _prepare(self, pending: PendingSubmit, sources: list[Source] | None = None) -> None:
        self._dispatcher.queue.coming += pending.load
        user, is_background = pending.user, pending.is_background
        self._forecast.backlog.add(user, pending.grants.weight, pending.work, pending.load, is_background=is_background)
        ticket = self.pending.add(pending)
        request = PrepareRequest(ticket, pending.content, sources, user=user, is_background=is_background)
        self._outbox.own(pending.job_id, pending.tenant)
        self._outbox.prepare(request)

    def _note_work(self, pending: PendingSubmit, options: Options) -> None:
        pending.user = share_owner(pending.account, pending.tenant, options.user)
        pending.is_background = (options.priority or 0) > 0
        pending.work = self._forecast.work_of_request(len(pending.content), options)

    def _timeout_s(self, given: float | None, pending: PendingSubmit) -> float | None:
        """The time that a job has: its own, or the service's where somebody waits for it."""
        return self._usual_timeout_s if given is None and not pending.is_background else given

    def _check_deadline(self, pending: PendingSubmit, time_left: float | None, work: float) -> None:
        self._forecast.check(time_left, pending.user, pending.grants.weight, work, is_background=pending.is_background)

    def _account(self, submit: Submit) -> str:
        """Whose share the job takes; a name that was made up, or of a key that is gone, has none."""
        return submit.account if submit.account in self._accounts else ""

    def _grants(self, submit: Submit, caller: Caller) -> KeyGrants:
        """What the job gets: an account has a weight of its own, but no more of the cloud than its caller."""
        if not submit.account:
            return caller.grants
        grants = self._accounts.get(submit.account, REVOKED_KEY_GRANTS)
        return grants if caller.grants.allow_cloud else msgspec.structs.replace(grants, allow_cloud=False)

    def _leave_disk_queue(self, job_id: str) -> None:
        job = self._on_way_to_disk.pop(job_id, None)
        if job is not None:
            self._dispatcher.queue.coming -= job.load
            self._forecast.backlog.remove(job.user, job.work, job.load, is_background=job.is_background)

    def _attach(
        self,
        identity: bytes,
        job_id: str,
        known: PendingSubmit | Job | EndedJob,
        digest: bytes,
        encoding: Encoding,
        tenant: str,
    ) -> None:
        if known.digest != digest or known.tenant != tenant:
            raise JobConflict("this job_id was used for another request", param="job_id")
        if isinstance(known, PendingSubmit):
            attach(known.requesters, identity, encoding)
            return
        if isinstance(known, EndedJob):
            remembered = self._result_loader.result_of(job_id)
            self._outbox.reply(identity, remembered.accepted, encoding)
            self._outbox.reply(identity, remembered.ended.finished, encoding)
            return
        known.attach(identity, encoding)
        if known.is_admitted:
            self._outbox.reply(identity, known.accepted, encoding)

    def _new_job(self, pending: PendingSubmit, prepared: PreparedRequest, load: QueueLoad) -> Job:
        policy, job_id = prepared.policy, pending.job_id
        self._num_arrived += 1
        return Job(
            job_id=job_id,
            digest=pending.digest,
            encoding=pending.encoding,
            prepared=prepared,
            arrived_at=pending.arrived_at,
            arrival_index=self._num_arrived,
            accepted=Accepted(
                job_id=job_id,
                epoch=self._epoch,
                prompt_tokens=len(prepared.prompt_ids),
                seed=prepared.params.seed,
                prompt_text=prepared.prompt_text,
                tool_markup=prepared.tool_markup,
                durable=self._journal_writer.is_enabled,
                seed_text=text_if_inexact(prepared.params.seed),
            ),
            local=TokenLog(
                self._texts if prepared.params.num_logprobs >= 0 else None,
                prepared.prompt_ids if prepared.params.prompt_logprobs else None,
            ),
            stream_released=policy.cloud_handoff_threshold == 0 or not policy.allow_cloud,
            load=load,
            work=self._forecast.work_of_prepared(prepared),
            is_admitted=False,
            tenant=pending.tenant,
            traceparent=pending.traceparent,
            account=pending.account,
            grants=pending.grants,
            is_keyed=pending.is_keyed,
        )


def plain_cache_salt(tenant: str, salt: str) -> str:
    """Tells tenants apart where nobody has a reason to pretend to be another."""
    return f"{tenant}/{salt}"


def _salted(prepared: PreparedRequest, salt: str) -> PreparedRequest:
    policy = msgspec.structs.replace(prepared.policy, cache_salt=salt)
    hashes = block_hashes(prepared.prompt_ids, salt) if prepared.block_hashes else ()
    return msgspec.structs.replace(prepared, policy=policy, block_hashes=hashes)


def _kept_here(prepared: PreparedRequest) -> PreparedRequest:
    policy = msgspec.structs.replace(prepared.policy, allow_cloud=False)
    refusal = "the key does not allow the cloud"
    return msgspec.structs.replace(prepared, policy=policy, cloud_refusal=refusal)


def _content(submit: Submit) -> bytes:
    """The same bytes for the same request, whichever encoding, trace and retention it came with."""
    if submit.traceparent is not None or submit.keyed:
        submit = msgspec.structs.replace(submit, traceparent=None, keyed=False)
    try:
        return msgspec.msgpack.encode(submit)
    except UNSENDABLE as error:
        raise unsendable(submit, error) from None

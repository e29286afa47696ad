"""Accepting jobs: the same id is the same job, and overload is an answer."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Sequence

import msgspec

from cactus_actors.protocol.errors import (
    CactusError,
    InvalidRequest,
    JobConflict,
    ServerFailure,
    StorageFailure,
    Unavailable,
)
from cactus_actors.protocol.messages import Accepted, Submit
from cactus_actors.protocol.results import Source
from cactus_actors.protocol.wire import Encoding, is_job_id
from router.callers import Caller
from router.dispatcher import Dispatcher
from router.documents import with_documents
from router.effects import Outbox
from router.job import EndedJob, Job, Prepared
from router.keeping import Keeper
from router.prefix_index import block_hashes
from router.records import AcceptedRecord
from router.table import JobTable
from router.token_log import TokenLog

Prepare = Callable[[Submit], Prepared]
Find = Callable[[Submit], list[Source]]
"""What documents say to a job's question."""
Salt = Callable[[str, str], str]
"""(tenant, the client's cache salt) -> the salt under which prefixes are shared."""


class Intake:
    """Turns Submit messages into queued jobs; raises what the client is to be told."""

    def __init__(
        self,
        table: JobTable,
        dispatcher: Dispatcher,
        outbox: Outbox,
        keeper: Keeper,
        prepare: Prepare,
        epoch: int,
        salt: Salt,
        find: Find,
    ) -> None:
        self.is_closed = False
        self._table = table
        self._dispatcher = dispatcher
        self._outbox = outbox
        self._keeper = keeper
        self._prepare = prepare
        self._find = find
        self._epoch = epoch
        self._salt = salt
        self._num_arrived = 0

    def submit(self, identity: bytes, submit: Submit, encoding: Encoding, now: float, caller: Caller) -> None:
        """Accept a job, or attach this client to it if it is known already."""
        if not is_job_id(submit.job_id):
            raise InvalidRequest("job_id must be 32 lowercase hexadecimal characters", param="job_id")
        digest = _digest(submit)
        known = self._table.get(submit.job_id)
        if known is not None:
            self._attach(identity, known, digest, encoding, caller.tenant)
            return
        if self.is_closed:
            raise Unavailable("the service is draining", retry_after=5.0)
        self._dispatcher.queue.check_room(0, now)  # before any tokenizer time is spent
        prepared = self._prepared(submit, caller.tenant)
        self._dispatcher.queue.check_room(len(prepared.prompt_ids), now)
        job = self._new_job(submit, digest, prepared, encoding, now, caller.tenant)
        job.attach(identity, encoding)
        self._table.add(job)
        if self._keeper.is_on:
            self._keeper.accepted(job, submit)
        else:
            self._admit(job)

    def on_recorded(self, job_ids: Sequence[str]) -> None:
        """These jobs are on disk: now they are accepted."""
        for job_id in job_ids:
            job = self._table.live.get(job_id)
            if job is not None and not job.is_recorded:
                self._admit(job)

    def on_unrecorded(self, job_ids: Sequence[str], reason: str) -> None:
        """These jobs could not be written to disk: they are refused."""
        error = StorageFailure(f"the journal cannot be written: {reason}", retry_after=5.0)
        for job_id in job_ids:
            job = self._table.live.get(job_id)
            if job is None or job.is_recorded:
                continue
            self._table.retract(job)
            for identity, encoding in job.attached.items():
                self._outbox.reject(identity, error, encoding, job_id=job_id)

    def restore(self, record: AcceptedRecord, now: float) -> Job:
        """A job that an earlier router accepted, as this one would have; raises what `submit` raises."""
        arrived_at = self._keeper.own_time(record.accepted_at, now)
        prepared = self._prepared(record.submit, record.tenant, record.sources)
        job = self._new_job(
            record.submit, record.digest, prepared, record.encoding, arrived_at, record.tenant
        )
        self._table.add(job)
        self._admit(job)
        return job

    def _admit(self, job: Job) -> None:
        job.is_recorded = True
        self._dispatcher.queue.add(job)
        for identity, encoding in job.attached.items():
            self._outbox.reply(identity, job.accepted, encoding)

    def _prepared(self, submit: Submit, tenant: str, known_sources: list[Source] | None = None) -> Prepared:
        """The job with its documents: those that it had before, or what is found now."""
        try:
            sources = self._find(submit) if known_sources is None else known_sources
            prepared = self._prepare(with_documents(submit, sources))
            prepared = dataclasses.replace(prepared, sources=sources) if sources else prepared
            return _salted(prepared, self._salt(tenant, prepared.policy.cache_salt)) if tenant else prepared
        except CactusError:
            raise
        except Exception as error:  # a tokenizer's own failure must cost this request, not the router
            raise ServerFailure(f"the request could not be prepared: {type(error).__name__}") from error

    def _attach(
        self, identity: bytes, known: Job | EndedJob, digest: bytes, encoding: Encoding, tenant: str
    ) -> None:
        if known.digest != digest or known.tenant != tenant:
            raise JobConflict("this job_id was used for another request", param="job_id")
        if isinstance(known, EndedJob):
            self._outbox.reply(identity, known.accepted, encoding)
            self._outbox.reply(identity, known.finished, encoding)
            return
        known.attach(identity, encoding)
        if known.is_recorded:
            self._outbox.reply(identity, known.accepted, encoding)

    def _new_job(
        self,
        submit: Submit,
        digest: bytes,
        prepared: Prepared,
        encoding: Encoding,
        arrived_at: float,
        tenant: str,
    ) -> Job:
        policy = prepared.policy
        self._num_arrived += 1
        return Job(
            job_id=submit.job_id,
            digest=digest,
            encoding=encoding,
            prepared=prepared,
            arrived_at=arrived_at,
            arrival=self._num_arrived,
            accepted=Accepted(
                job_id=submit.job_id,
                epoch=self._epoch,
                prompt_tokens=len(prepared.prompt_ids),
                seed=prepared.params.seed,
                prompt_text=prepared.prompt_text,
                tool_markup=prepared.tool_markup,
                durable=self._keeper.is_on,
            ),
            local=TokenLog(
                prepared.tokenizer, prepared.prompt_ids if prepared.params.prompt_logprobs else None
            ),
            is_open=policy.cloud_handoff_threshold == 0 or not policy.allow_cloud,
            is_recorded=False,
            tenant=tenant,
        )


def plain_salt(tenant: str, salt: str) -> str:
    """Tells tenants apart where nobody has a reason to pretend to be another."""
    return f"{tenant}/{salt}"


def _salted(prepared: Prepared, salt: str) -> Prepared:
    policy = msgspec.structs.replace(prepared.policy, cache_salt=salt)
    hashes = block_hashes(prepared.prompt_ids, salt) if prepared.block_hashes else ()
    return dataclasses.replace(prepared, policy=policy, block_hashes=hashes)


def _digest(submit: Submit) -> bytes:
    """Names the content of a request, whichever encoding it came in."""
    try:
        return hashlib.blake2b(msgspec.msgpack.encode(submit), digest_size=16).digest()
    except (OverflowError, RecursionError):
        raise InvalidRequest("the request holds an integer that does not fit 64 bits") from None

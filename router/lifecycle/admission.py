"""Accepts jobs, once for each id, or refuses them if the service has no room."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

import msgspec

from cactus_actors.api.openai import cloud_question
from cactus_actors.protocol.errors import (
    CactusError,
    InvalidRequest,
    JobConflict,
    StorageFailure,
    Unavailable,
)
from cactus_actors.protocol.key_grants import REVOKED_KEY_GRANTS, KeyGrants
from cactus_actors.protocol.messages import Finished, Submit
from cactus_actors.protocol.results import NOT_ALLOWED, Handoff, Result, Source, Usage
from cactus_actors.protocol.trace_context import is_traceparent
from cactus_actors.protocol.unsendable import UNSENDABLE, unsendable
from cactus_actors.protocol.wire import Encoding, is_job_id
from cactus_actors.router.effects import PrepareRequest, ReportJob
from cactus_actors.router.lifecycle.job_factory import JobFactory
from cactus_actors.router.lifecycle.journal_writer import JournalWriter
from cactus_actors.router.lifecycle.streams import Streams
from cactus_actors.router.router_state import RouterState
from cactus_actors.router.state.caller import Caller
from cactus_actors.router.state.encoded_picture import EncodedPicture, PictureReference
from cactus_actors.router.state.ended_jobs import EndedJob
from cactus_actors.router.state.job import Job, attach, share_owner
from cactus_actors.router.state.job_report import report_of_unprepared
from cactus_actors.router.state.journal_records import AcceptedRecord
from cactus_actors.router.state.local_run import JobEnding
from cactus_actors.router.state.prepared_request import PreparedRequest, PreparedTier
from cactus_actors.router.state.queue_load import load_of_request
from cactus_actors.router.state.reservation import Reservation
from cactus_actors.router.state.submission import PendingSubmit, Submission
from cactus_actors.router.state.token_log import TokenLog


class Admission:
    """Turns Submit messages into queued jobs: preparation, then the journal, then the queue.

    A request holds a reservation in the queue from its arrival on; it is replaced by that of the prepared
    request while the journal writes the job, and released when the job is on disk or is refused.

    A job for which a worker has a slot runs ahead: it joins the queue while the journal writes it. Until it is on disk
    nobody hears of it, of its tokens or of its end. One that may be handed off does not: others would hear of it. Nor
    does any while the journal cannot be written.
    """

    def __init__(
        self, state: RouterState, streams: Streams, journal_writer: JournalWriter, factory: JobFactory
    ) -> None:
        self._state = state
        self._streams = streams
        self._journal_writer = journal_writer
        self._factory = factory

    def submit(
        self,
        identity: bytes,
        submit: Submit,
        encoding: Encoding,
        now: float,
        caller: Caller,
        frames: Sequence[bytes] = (),
    ) -> None:
        """Queue a request for preparation, or attach its client to the job of that id; raises its error.

        `frames` are the pictures that came with it.
        """
        if not is_job_id(submit.job_id):
            raise InvalidRequest("job_id must be 32 lowercase hexadecimal characters", param="job_id")
        if submit.traceparent is not None and not is_traceparent(submit.traceparent):
            raise InvalidRequest("traceparent is not one of W3C's, version 00", param="traceparent")
        content = _canonical(submit)
        pictures = tuple(map(EncodedPicture.of, frames))
        digest = _digest(content, pictures)
        known = self._state.pending.get(submit.job_id) or self._state.jobs.get(submit.job_id)
        if known is not None:
            if known.digest != digest or known.tenant != caller.tenant:
                raise JobConflict(
                    "this job_id belongs to another request: send that one again, or use another job_id",
                    param="job_id",
                )
            self._attach(identity, submit.job_id, known, encoding)
            return
        if self._state.is_draining:
            raise Unavailable("the service is draining", retry_after=5.0)
        fleet, is_cascade = self._state.fleets.requested(submit.model), self._is_cascade(submit)
        adapter = fleet.adapters.key_of(submit.model, submit.options.lora)
        submission = Submission(
            digest,
            encoding,
            caller.tenant,
            now,
            self._account(submit),
            self._grants(submit, caller),
            submit.traceparent,
            submit.keyed,
            adapter,
            fleet.name,
            is_cascade,
        )
        pending = self._pending(submit, content, submission)
        pending.pictures = pictures
        pending.reservation = pending.reservation.with_pictures(pictures)
        pending.requesters[identity] = encoding
        timeout_ms = submit.options.timeout_ms
        timeout_s = self._factory.timeout_s(None if timeout_ms is None else timeout_ms / 1000, pending)
        # Checked before preparation, which is expensive; the deadline first, because a job may be unable to end in
        # time even with an empty queue.
        fleet.dispatcher.forecast.check(pending.reservation, timeout_s)
        fleet.dispatcher.queue.check_room(pending.reservation, now)
        self._prepare(pending)

    def restore(self, record: AcceptedRecord, now: float) -> None:
        """Prepare a job again that an earlier router accepted."""
        submit, arrived_at = record.submit, self._journal_writer.own_time(record.accepted_at, now)
        fleet, adapter, refusal = self._state.fleets.first, "", None
        try:
            fleet = self._state.fleets.requested(submit.model)
            adapter = fleet.adapters.key_of(submit.model, submit.options.lora)
        except CactusError as error:
            refusal = error
        submission = Submission(
            record.digest,
            record.encoding,
            record.tenant,
            arrived_at,
            self._account(submit),
            record.grants,
            submit.traceparent,
            submit.keyed,
            adapter,
            fleet.name,
            self._is_cascade(submit),
        )
        pending = self._pending(submit, _canonical(submit), submission)
        pending.record, pending.refusal = record, refusal
        self._prepare(pending, record.sources, record.pictures)

    def owners(self) -> Iterator[tuple[str, str]]:
        """(job id, tenant) of every job of a tenant that has not ended, accepted or not."""
        for job in (*self._state.pending.values(), *self._state.jobs.live.values()):
            if job.tenant:
                yield job.job_id, job.tenant

    def on_prepared(self, job_id: str, outcome: PreparedRequest | CactusError, now: float) -> None:
        """Pass a prepared request to the journal, or refuse one that cannot be prepared."""
        pending = self._state.pending.pop(job_id)
        self._state.fleets.of(pending).dispatcher.queue.release(job_id)
        outcome = pending.refusal or outcome
        try:
            if isinstance(outcome, CactusError):
                raise outcome
            if pending.submission.is_cascade:
                outcome = self._at_first_tier(pending, outcome)
            if outcome.task == "cloud_question":
                self._show_question(pending, outcome)
            else:
                self._take_prepared(pending, outcome, now)
        except CactusError as error:
            if pending.record is None:
                self._refuse(pending, error)
            else:
                self._fail_restored(pending, pending.record, error, now)

    def on_stop(self) -> None:
        """Refuse the requests that are still being prepared; the journal keeps the jobs accepted before."""
        error = Unavailable("the service was stopped", retry_after=5.0)
        for pending in self._state.pending.values():
            self._reject_all(pending.requesters, error, pending.job_id)
        self._state.pending.clear()

    def on_journaled(self, job_ids: Sequence[str], now: float) -> list[tuple[Job, JobEnding]]:
        """Accept these jobs, which are on disk, or whose tier is, and show their streams; returns runs to be ended."""
        ended = []
        for job_id in job_ids:
            self._journal_writer.on_written(job_id)
            job = self._release_reservation(job_id)
            if job is None or not job.publication.num_unwritten:
                continue
            job.publication.num_unwritten -= 1
            if not job.is_accepted:
                self._accept(job)
                if job.local.ending is not None:
                    ended.append((job, job.local.ending))
            self._streams.advance(job, now)
        return ended

    def on_journal_failed(self, job_ids: Sequence[str], reason: str) -> None:
        """Refuse these jobs, which could not be written to disk."""
        error = StorageFailure(f"the journal cannot be written: {reason}", retry_after=5.0)
        for job_id in job_ids:
            job = self._release_reservation(job_id)
            if job is not None and not job.is_accepted:
                self._state.fleets.of(job).dispatcher.release_local(job)
                self._state.jobs.retract(job)
                self._journal_writer.on_refused(job_id)
                self._state.outbox.disown(job_id, job.tenant)
                self._state.counters.rejected[error.type] += 1
                self._reject_all(job.attached, error, job_id)

    def _take_prepared(self, pending: PendingSubmit, prepared: PreparedRequest, now: float) -> None:
        state = self._state
        self_contained, prepared = prepared.self_contained, msgspec.structs.replace(prepared, self_contained=None)
        job = self._factory.job(pending, prepared)
        dispatcher = state.fleets.of(pending).dispatcher
        dispatcher.forecast.on_prepared(len(pending.content), len(prepared.prompt_ids))
        if pending.record is None:
            time_left = None if job.deadline is None else job.deadline - now
            dispatcher.forecast.check(job.reservation, time_left)
            dispatcher.queue.check_room(job.reservation, now)
        pictures, is_journaled = pending.pictures, state.has_journal and pending.record is None
        if is_journaled:
            pictures = (*pictures, *(self_contained.pictures if self_contained else ()))
            self._journal_writer.make_room(job.job_id, pictures)
        state.jobs.add(job)
        self._streams.schedule_progress(job, now)
        if is_journaled:
            dispatcher.queue.reserve(job.job_id, job.reservation.with_pictures(pictures))
            content = self_contained.content if self_contained else pending.content
            self._journal_writer.accepted(job, content, pictures)
            must_wait = job.is_gated or job.submission.is_cascade or state.storage_error
            if not must_wait and len(dispatcher.workers.slots):
                state.jobs.ahead.add(job.job_id)
                self._admit(job)
        else:
            self._accept(job)

    def _at_first_tier(self, pending: PendingSubmit, prepared: PreparedRequest) -> PreparedRequest:
        """The request at the first model of its cascade that it fits, and that is not switched off, if there is one.

        A job of the journal is at the model that it was at.
        """
        tiers = [PreparedTier(prepared.model, prepared), *prepared.tiers]
        fleets, record = self._state.fleets, pending.record
        usable = [it for it, tier in enumerate(tiers) if not fleets.named(tier.model).is_switched_off]
        if record is not None and record.tier is not None:
            usable = [it for it, tier in enumerate(tiers) if tier.model == record.tier.model] or usable
        first = usable[0] if usable else 0
        pending.submission = msgspec.structs.replace(pending.submission, model=tiers[first].model)
        return msgspec.structs.replace(
            tiers[first].prepared, tiers=tiers[first + 1 :], self_contained=prepared.self_contained
        )

    def _show_question(self, pending: PendingSubmit, prepared: PreparedRequest) -> None:
        """Answer with the question for a cloud, or the reason why the job may not go there; nothing is kept of it."""
        prepared, outbox = self._factory.granted(pending, prepared), self._state.outbox
        result = Result(usage=Usage(prompt_tokens=len(prepared.prompt_ids)), model=prepared.model)
        if prepared.policy.allow_cloud:
            question = cloud_question(prepared.request, prepared.params)
            result = msgspec.structs.replace(result, cloud_question=question)
        else:
            refusal = Handoff(status="suppressed", reason=prepared.cloud_refusal or NOT_ALLOWED)
            result = msgspec.structs.replace(result, handoff=refusal)
        outbox.disown(pending.job_id, pending.tenant)
        for identity, encoding in pending.requesters.items():
            outbox.reply(identity, Finished(job_id=pending.job_id, length=0, result=result), encoding)

    def _admit(self, job: Job) -> None:
        job.is_admitted = True
        self._state.fleets.of(job).dispatcher.queue.add(job)

    def _accept(self, job: Job) -> None:
        """Tell the clients of a job that it is accepted, and admit it, unless that was done."""
        job.is_accepted = True
        self._state.jobs.ahead.discard(job.job_id)
        self._state.jobs.count("accepted")
        if not job.is_admitted:
            self._admit(job)
        for identity, encoding in job.attached.items():
            self._state.outbox.reply(identity, job.accepted, encoding)

    def _refuse(self, pending: PendingSubmit, error: CactusError) -> None:
        self._state.outbox.disown(pending.job_id, pending.tenant)
        self._state.jobs.count("rejected")
        self._state.counters.rejected[error.type] += 1
        self._reject_all(pending.requesters, error, pending.job_id)

    def _fail_restored(self, pending: PendingSubmit, record: AcceptedRecord, error: CactusError, now: float) -> None:
        """End an accepted job that cannot be prepared again, with the reason."""
        state, job_id = self._state, pending.job_id
        state.outbox.disown(job_id, pending.tenant)
        result = Result(finish_reason="error", success=False, error=error.info())
        finished = Finished(job_id=job_id, length=0, result=result)
        ended = EndedJob(pending.digest, "failed", 0, now, pending.tenant, pending.submission.is_keyed)
        state.jobs.restore(job_id, ended)
        self._journal_writer.ended(ended, record.accepted, finished, TokenLog())
        for identity, encoding in pending.requesters.items():
            state.outbox.reply(identity, record.accepted, encoding)
            state.outbox.reply(identity, finished, encoding)
        seconds = now - pending.submission.arrived_at
        report = report_of_unprepared(record.submit, result, pending.tenant, state.facts.epoch, seconds)
        state.fleets.of(pending).counters.on_ended(report)
        state.outbox.add(ReportJob(report))

    def _prepare(
        self,
        pending: PendingSubmit,
        sources: list[Source] | None = None,
        kept: Sequence[PictureReference] = (),
    ) -> None:
        state, reservation = self._state, pending.reservation
        state.fleets.of(pending).dispatcher.queue.reserve(pending.job_id, reservation)
        state.pending[pending.job_id] = pending
        state.outbox.own(pending.job_id, pending.tenant)
        state.outbox.add(
            PrepareRequest(
                pending.job_id,
                pending.content,
                sources,
                user=reservation.user,
                is_background=reservation.is_background,
                frames=tuple(picture.content for picture in pending.pictures),
                kept=tuple(reference.digest for reference in kept),
                tenant=pending.tenant,
                model=state.settings.cascade.name if pending.submission.is_cascade else pending.submission.model,
            )
        )

    def _attach(self, identity: bytes, job_id: str, known: PendingSubmit | Job | EndedJob, encoding: Encoding) -> None:
        """Answer one more client of a job."""
        outbox = self._state.outbox
        if isinstance(known, PendingSubmit):
            attach(known.requesters, identity, encoding)
        elif isinstance(known, EndedJob):
            stored = self._state.results.result_of(job_id)
            outbox.reply(identity, stored.accepted, encoding)
            outbox.reply(identity, stored.ended.finished, encoding)
        else:
            attach(known.attached, identity, encoding)
            if known.is_accepted:
                outbox.reply(identity, known.accepted, encoding)

    def _reject_all(self, clients: dict[bytes, Encoding], error: CactusError, job_id: str) -> None:
        for identity, encoding in clients.items():
            self._state.outbox.reject(identity, error, encoding, job_id=job_id)

    def _pending(self, submit: Submit, content: bytes, submission: Submission) -> PendingSubmit:
        """A request with its reservation."""
        user = share_owner(submission.account, submission.tenant, submit.options.user)
        weight, is_background = submission.grants.weight, submit.options.is_background
        pending = PendingSubmit(
            submit.job_id, submission, Reservation(user, weight, load_of_request(content), 0.0, is_background), content
        )
        forecast = self._state.fleets.of(pending).dispatcher.forecast
        work = forecast.work_of_request(len(content), submit.options)
        pending.reservation = msgspec.structs.replace(pending.reservation, work=work)
        return pending

    def _is_cascade(self, submit: Submit) -> bool:
        """True for a request to the cascade; raises InvalidRequest if it also names an adapter."""
        is_cascade = self._state.settings.cascade.is_named_by(submit.model)
        if is_cascade and submit.options.lora:
            raise InvalidRequest("an adapter belongs to one model, not to a cascade", param="lora")
        return is_cascade

    def _release_reservation(self, job_id: str) -> Job | None:
        """End the reservation of a job that the journal has handled; returns the job, unless it has ended."""
        for fleet in self._state.fleets:  # it may have ended since
            fleet.dispatcher.queue.release(job_id)
        return self._state.jobs.live.get(job_id)

    def _account(self, submit: Submit) -> str:
        """The account of a request; an unknown one, or that of a removed key, takes no share."""
        return submit.account if submit.account in self._state.settings.accounts else ""

    def _grants(self, submit: Submit, caller: Caller) -> KeyGrants:
        """The grants of the job: an account has its own weight, but no more rights to the cloud than its caller."""
        if not submit.account:
            return caller.grants
        grants = self._state.settings.accounts.get(submit.account, REVOKED_KEY_GRANTS)
        return grants if caller.grants.allow_cloud else msgspec.structs.replace(grants, allow_cloud=False)


def _digest(content: bytes, pictures: Sequence[EncodedPicture]) -> bytes:
    """The identity of a request and of the pictures that came with it."""
    digest = hashlib.blake2b(content, digest_size=16)
    for picture in pictures:
        digest.update(picture.digest)
    return digest.digest()


def _canonical(submit: Submit) -> bytes:
    """Bytes that are equal for equal requests, whatever their encoding, trace and retention."""
    if submit.traceparent is not None or submit.keyed:
        submit = msgspec.structs.replace(submit, traceparent=None, keyed=False)
    try:
        return msgspec.msgpack.encode(submit)
    except UNSENDABLE as error:
        raise unsendable(submit, error) from None

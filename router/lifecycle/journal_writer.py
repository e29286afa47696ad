"""Writes jobs and results to the journal, and restores ended jobs from it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from cactus_actors.protocol.messages import Accepted, Finished
from cactus_actors.router.effects import WriteJournal
from cactus_actors.router.router_state import RouterState
from cactus_actors.router.state.encoded_picture import EncodedPicture, PictureReference
from cactus_actors.router.state.ended_jobs import EndedJob
from cactus_actors.router.state.job import Job
from cactus_actors.router.state.journal_records import (
    AcceptedEntry,
    EndedRecord,
    Forget,
    ForgetPictures,
    JobTier,
    StoredResult,
    WriteAccepted,
    WriteEnded,
    WriteTier,
)
from cactus_actors.router.state.token_log import TokenLog


class JournalWriter:
    """Passes jobs to the journal, if there is one, and their results to the result store."""

    def __init__(self, state: RouterState) -> None:
        self._outbox = state.outbox
        self._results = state.results
        self._pictures = state.kept_pictures
        self._unix_offset = state.options.unix_offset

    def make_room(self, job_id: str, pictures: Sequence[EncodedPicture]) -> None:
        """Count the pictures of a new job; raises MediaTooLarge, or Overloaded if the journal has no room for them."""
        if pictures:
            self._forget_pictures(self._pictures.add(job_id, [picture.reference for picture in pictures]))

    def accepted(self, job: Job, content: bytes, pictures: Sequence[EncodedPicture] = ()) -> None:
        """Write a job for whose pictures there is room; `content` is its request, `pictures` are the frames of that."""
        assert self._unix_offset is not None
        submission = job.submission
        entry = AcceptedEntry(
            submit=msgspec.Raw(content),
            digest=submission.digest,
            accepted=job.accepted,
            encoding=submission.encoding,
            accepted_at=submission.arrived_at + self._unix_offset,
            tenant=submission.tenant,
            sources=list(job.prepared.sources),
            grants=submission.grants,
            traceparent=submission.traceparent,
            is_keyed=submission.is_keyed,
            pictures=[picture.reference for picture in pictures],
            tier=_tier_of(job) if submission.is_cascade else None,
        )
        unwritten = self._pictures.unwritten(job.job_id, pictures)
        job.publication.num_unwritten += 1
        self._outbox.add(WriteJournal(WriteAccepted(job.job_id, entry, unwritten, job.is_background)))

    def moved(self, job: Job) -> None:
        """Write the tier of a job that has changed its model, before its stream goes on."""
        if self._unix_offset is not None:
            job.publication.num_unwritten += 1
            self._outbox.add(WriteJournal(WriteTier(job.job_id, _tier_of(job))))

    def on_written(self, job_id: str) -> None:
        """Record that a job is on disk, or its tier."""
        self._pictures.on_written(job_id)

    def on_refused(self, job_id: str) -> None:
        """Record that a job is not in the journal, though there was room for it."""
        self._forget_pictures(self._pictures.forget(job_id))

    def restored(self, job_id: str, pictures: Iterable[PictureReference], *, is_live: bool) -> None:
        """Record the pictures that the journal holds for a job of an earlier router."""
        self._pictures.restore(job_id, pictures, is_live=is_live)

    def ended(self, ended: EndedJob, accepted: Accepted, finished: Finished, stream: TokenLog) -> None:
        """Store a job's result, with the stream that led to it."""
        record = EndedRecord(
            finished=finished,
            state=ended.state,
            token_ids=stream.token_ids,
            texts=stream.texts,
            tail=stream.tail,
            ended_at=ended.ended_at + (self._unix_offset or 0.0),
            reasonings=[] if stream.reasoning is None else stream.reasoning.texts,
            reasoning_tail="" if stream.reasoning is None else stream.reasoning.tail,
        )
        self._results.add(finished.job_id, StoredResult(accepted, record))
        if self._unix_offset is not None:
            self._outbox.add(WriteJournal(WriteEnded(finished.job_id, record)))
            self._pictures.on_ended(finished.job_id)

    def forget(self, job_ids: Iterable[str]) -> None:
        """Drop jobs whose retention is over."""
        for job_id in job_ids:
            self._results.forget(job_id)
            if self._unix_offset is not None:
                self._outbox.add(WriteJournal(Forget(job_id)))
                self._forget_pictures(self._pictures.forget(job_id))

    def own_time(self, unix_s: float, now: float) -> float:
        """A past Unix time on the router's clock, at most `now`."""
        assert self._unix_offset is not None
        return min(now, unix_s - self._unix_offset)

    def _forget_pictures(self, digests: Sequence[bytes]) -> None:
        if digests:
            self._outbox.add(WriteJournal(ForgetPictures(tuple(digests))))


def _tier_of(job: Job) -> JobTier:
    return JobTier(job.submission.model, job.threshold if job.is_gated else 0.0)

"""Writes jobs and results to the journal, and restores ended jobs from it."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from cactus_actors.protocol.messages import Accepted, Finished
from cactus_actors.router.effects import WriteJournal
from cactus_actors.router.router_state import RouterState
from cactus_actors.router.state.job import EndedJob, Job
from cactus_actors.router.state.journal_records import (
    AcceptedEntry,
    EndedRecord,
    Forget,
    RecoveredEnd,
    StoredResult,
    WriteAccepted,
    WriteEnded,
)
from cactus_actors.router.state.token_log import TokenLog


class JournalWriter:
    """Hands jobs to the journal, if there is one, and their results to the result store."""

    def __init__(self, state: RouterState) -> None:
        self._outbox = state.outbox
        self._results = state.results
        self._unix_offset = state.options.unix_offset

    def accepted(self, job: Job, content: bytes) -> None:
        """Write a job; `content` is the digested form of its request."""
        assert self._unix_offset is not None
        entry = AcceptedEntry(
            submit=msgspec.Raw(content),
            digest=job.digest,
            accepted=job.accepted,
            encoding=job.encoding,
            accepted_at=job.arrived_at + self._unix_offset,
            tenant=job.tenant,
            sources=list(job.prepared.sources),
            grants=job.grants,
            traceparent=job.traceparent,
            is_keyed=job.is_keyed,
        )
        self._outbox.add(WriteJournal(WriteAccepted(job.job_id, entry)))

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

    def forget(self, job_ids: Iterable[str]) -> None:
        """Drop jobs whose retention is over."""
        for job_id in job_ids:
            self._results.forget(job_id)
            if self._unix_offset is not None:
                self._outbox.add(WriteJournal(Forget(job_id)))

    def ended_job(self, recovered: RecoveredEnd, now: float) -> EndedJob:
        """A job that ended under an earlier router, as the job table holds it."""
        return EndedJob(
            recovered.digest,
            recovered.state,
            recovered.length,
            self.own_time(recovered.ended_at, now),
            recovered.tenant,
            recovered.is_keyed,
        )

    def own_time(self, unix_s: float, now: float) -> float:
        """A past Unix time on the router's clock, at most `now`."""
        assert self._unix_offset is not None
        return min(now, unix_s - self._unix_offset)

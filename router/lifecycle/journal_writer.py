"""What of the jobs goes to the journal, and how a job comes back from it."""

from __future__ import annotations

import msgspec

from cactus_actors.protocol.messages import Accepted, Finished, Submit
from cactus_actors.router.effects import Outbox
from cactus_actors.router.state.job import EndedJob, Job
from cactus_actors.router.state.journal_records import (
    AcceptedRecord,
    EndedRecord,
    Forget,
    RecoveredEnd,
    StoredResult,
    WriteAccepted,
    WriteEnded,
)
from cactus_actors.router.state.result_store import ResultStore
from cactus_actors.router.state.token_log import TokenLog


class JournalWriter:
    """Tells the journal about each job; a router without one keeps nothing.

    `unix_offset` is what makes Unix seconds of the router's own clock, or None without a journal. Results
    go to `results` too.
    """

    def __init__(self, outbox: Outbox, results: ResultStore, unix_offset: float | None) -> None:
        self._outbox = outbox
        self._results = results
        self._unix_offset = unix_offset

    @property
    def is_enabled(self) -> bool:
        return self._unix_offset is not None

    def accepted(self, job: Job, submit: Submit) -> None:
        """Keep a job; the seed that it was given is kept with it."""
        if self._unix_offset is None:
            return
        options = msgspec.structs.replace(submit.options, seed=job.prepared.params.seed, random_seed=None)
        record = AcceptedRecord(
            submit=msgspec.structs.replace(submit, options=options),
            digest=job.digest,
            accepted=job.accepted,
            encoding=job.encoding,
            accepted_at=job.arrived_at + self._unix_offset,
            tenant=job.tenant,
            sources=list(job.prepared.sources),
            grants=job.grants,
        )
        self._outbox.write_journal(WriteAccepted(job.job_id, record))

    def ended(self, ended: EndedJob, accepted: Accepted, finished: Finished, stream: TokenLog) -> None:
        """Keep a job's end, and the stream that led there."""
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
        if self.is_enabled:
            self._outbox.write_journal(WriteEnded(finished.job_id, record))

    def forgotten(self, job_ids: list[str]) -> None:
        for job_id in job_ids:
            self._results.forget(job_id)
            if self.is_enabled:
                self._outbox.write_journal(Forget(job_id))

    def ended_job(self, recovered: RecoveredEnd, now: float) -> EndedJob:
        """The job as the table holds it."""
        ended_at = self.own_time(recovered.ended_at, now)
        return EndedJob(
            recovered.digest,
            recovered.state,
            recovered.length,
            ended_at,
            recovered.tenant,
            recovered.is_keyed,
        )

    def own_time(self, unix_s: float, now: float) -> float:
        """A past moment on the router's clock, never after `now`."""
        assert self._unix_offset is not None
        return min(now, unix_s - self._unix_offset)

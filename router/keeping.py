"""What of the jobs goes to the journal, and how a job comes back from it."""

from __future__ import annotations

import msgspec

from cactus_actors.protocol.messages import Submit
from router.effects import Outbox
from router.job import EndedJob, Job
from router.records import AcceptedRecord, EndedRecord, Forget, Recovered, WriteAccepted, WriteEnded
from router.token_log import TokenLog


class Keeper:
    """Tells the journal about each job; a router without one keeps nothing.

    `unix_offset` is what makes Unix seconds of the router's own clock, or None without a journal.
    """

    def __init__(self, outbox: Outbox, unix_offset: float | None) -> None:
        self._outbox = outbox
        self._unix_offset = unix_offset

    @property
    def is_on(self) -> bool:
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
        )
        self._outbox.keep(WriteAccepted(job.job_id, record))

    def ended(self, job_id: str, ended: EndedJob) -> None:
        if self._unix_offset is None:
            return
        record = EndedRecord(
            finished=ended.finished,
            state=ended.state,
            token_ids=ended.stream.token_ids,
            texts=ended.stream.texts,
            tail=ended.stream.tail,
            ended_at=ended.ended_at + self._unix_offset,
        )
        self._outbox.keep(WriteEnded(job_id, record))

    def forgotten(self, job_ids: list[str]) -> None:
        if self.is_on:
            for job_id in job_ids:
                self._outbox.keep(Forget(job_id))

    def ended_job(self, recovered: Recovered, epoch: int, now: float) -> EndedJob | None:
        """The job as the table holds it, or None if it is still to be run."""
        accepted, ended = recovered.accepted, recovered.ended
        if ended is None:
            return None
        stream = TokenLog()
        stream.token_ids, stream.texts, stream.tail = ended.token_ids, ended.texts, ended.tail
        return EndedJob(
            digest=accepted.digest,
            accepted=msgspec.structs.replace(accepted.accepted, epoch=epoch),
            finished=ended.finished,
            state=ended.state,
            stream=stream,
            ended_at=self.own_time(ended.ended_at, now),
            tenant=accepted.tenant,
        )

    def own_time(self, unix_s: float, now: float) -> float:
        """A past moment on the router's clock, never after `now`."""
        assert self._unix_offset is not None
        return min(now, unix_s - self._unix_offset)

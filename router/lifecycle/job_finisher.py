"""Ends jobs: exactly one Finished, sent to every client that waits for it."""

from __future__ import annotations

from cactus_actors.protocol.errors import CactusError
from cactus_actors.protocol.messages import Finished
from cactus_actors.router.effects import ReportJob
from cactus_actors.router.lifecycle.audit_sampler import AuditSampler
from cactus_actors.router.lifecycle.job_factory import local_answer
from cactus_actors.router.lifecycle.job_result import ended_state, make_result
from cactus_actors.router.lifecycle.journal_writer import JournalWriter
from cactus_actors.router.lifecycle.streams import Streams
from cactus_actors.router.lifecycle.tiers import TierSwitch
from cactus_actors.router.router_state import RouterState
from cactus_actors.router.state.ended_jobs import EndedJob
from cactus_actors.router.state.job import Job
from cactus_actors.router.state.job_report import report_of
from cactus_actors.router.state.local_run import JobEnding


class JobFinisher:
    """Ends live jobs."""

    def __init__(
        self,
        state: RouterState,
        streams: Streams,
        journal_writer: JournalWriter,
        audit_sampler: AuditSampler,
        tiers: TierSwitch,
    ) -> None:
        self._state = state
        self._tiers = tiers
        self._fleets = state.fleets
        self._outbox = state.outbox
        self._streams = streams
        self._journal_writer = journal_writer
        self._audit_sampler = audit_sampler

    def fail(self, job: Job, error: CactusError, now: float) -> EndedJob:
        """End the job with an error."""
        return self.finish(job, JobEnding("error", error=error.info()), now)

    def finish(self, job: Job, ending: JobEnding, now: float) -> EndedJob:
        """Stop all work on the job, publish the rest of its stream, and answer those attached."""
        assert self._state.jobs.is_live(job)
        fleet = self._fleets.of(job)
        fleet.dispatcher.release_local(job)
        fleet.on_job_left()
        self._fleets.cloud.release_cloud(job)
        if not job.is_accepted:  # it ran ahead of the journal, and nothing of it may be shown
            job.local = local_answer(fleet, job.prepared, is_cascade=job.submission.is_cascade)
        job.publication.is_released, job.publication.num_unwritten = True, 0
        self._streams.advance(job, now)
        worker = self._fleets.by_id(job.attempts.worker)
        result = make_result(
            job,
            ending,
            now,
            ram_usage_mb=worker.report.ram_usage_mb if worker else 0.0,
            signal=self._state.settings.confidence_signal,
            fits=fleet.served.fits,
            gates=self._state.settings.handoff_gates,
            fingerprint=fleet.served.fingerprint,
        )
        if job.submission.is_cascade:
            result = self._tiers.with_path(job, result, now)
        finished = Finished(job_id=job.job_id, length=len(job.stream), result=result)
        ended = EndedJob(job.digest, ended_state(ending), finished.length, now, job.tenant, job.submission.is_keyed)
        if job.audit is not None:
            self._state.jobs.drop(job, ended.state)
            self._audit_sampler.on_answered(job.audit, result)
            return ended
        self._state.jobs.end(job, ended, result.handoff.status)
        self._journal_writer.ended(ended, job.accepted, finished, job.stream)
        self._streams.finish(job, finished, now)
        self._outbox.disown(job.job_id, job.tenant)
        for identity, encoding in job.attached.items():
            self._outbox.reply(identity, finished, encoding)
        fleet.dispatcher.forecast.on_ended(job, now, is_complete=ending.reason in ("stop", "length"))
        report = report_of(job, result, ended.state, self._state.facts.epoch, now)
        fleet.counters.on_ended(report)
        if report.attempts and not job.is_background:
            first_token_s = None if report.prefill_s is None else report.queue_s + report.prefill_s
            fleet.recent.add(now, report.queue_s, first_token_s)
        self._outbox.add(ReportJob(report))
        self._audit_sampler.on_ended(job, result, now)
        return ended

"""Draws answers that stayed, to be compared with the cloud's after the client has them."""

from __future__ import annotations

import random

from cactus_actors.protocol.confidence import signal_named
from cactus_actors.protocol.results import Result
from cactus_actors.protocol.worker_messages import Audit
from cactus_actors.router.router_state import RequiredThreshold, RouterState
from cactus_actors.router.state.job import Job
from cactus_actors.router.state.worker import WorkerRecord


class AuditSampler:
    """Sends a random share of the answers that passed all gates to a cloud worker.

    It notes the thresholds that the worker requires. Answers are audited only of jobs that might have been handed off,
    in a cascade to its cloud. Which ones does not depend on anything that clients choose.
    """

    def __init__(self, state: RouterState) -> None:
        self._state = state
        self._outbox = state.outbox
        self._workers = state.fleets.cloud.workers
        self._share = state.settings.audit_share
        self._gates = state.settings.handoff_gates
        self._random = random.Random(state.facts.epoch)  # noqa: S311  a sample, and no secret

    def on_report(self, worker: WorkerRecord) -> None:
        """Record the thresholds that a cloud worker requires, for new jobs."""
        audits = worker.report.audits
        if audits is not None:
            self._state.required = {
                tier: RequiredThreshold(one.min_threshold, one.step) for tier, one in audits.by_tier.items()
            }

    def on_ended(self, job: Job, result: Result) -> None:
        """Draw a job that has ended, once its clients have been answered."""
        if not (self._share and _has_stayed(job, result)) or self._random.random() >= self._share:
            return
        worker = next((one for one in self._workers.cloud.values() if one.report.unavailable is None), None)
        samples, prepared = job.local.log.confidence_samples, job.prepared
        if worker is None or not samples.entropies:
            return
        signal = signal_named(self._state.settings.confidence_signal, self._state.fleets.of(job).served.fits)
        self._outbox.command(
            worker.identity,
            Audit(
                request=prepared.request,
                params=prepared.params,
                text=result.text,
                calls=result.tool_calls,
                signal=self._gates.lowest(signal, samples),
                threshold=job.threshold,
                step=job.threshold_step,
                tenant=job.submission.account or job.tenant,
                num_prompt_tokens=len(prepared.prompt_ids),
                tool_markup=prepared.tool_markup,
                tools=prepared.readable_tools,
                single_call=prepared.single_call,
                group=prepared.policy.group,
                tier=job.tier,
            ),
        )


def _has_stayed(job: Job, result: Result) -> bool:
    """True for a whole answer that passed the gates of a job that the service's signal might have handed off."""
    return (
        job.is_gated
        and not job.prepared.policy.compares_entropy
        and job.handoff.gate_failure is None
        and job.prepared.policy.allow_cloud
        and result.finish_reason in ("stop", "tool_calls")
    )

"""Draws answers that stayed, to be compared with those of a second model after the client has them."""

from __future__ import annotations

import contextlib
import random

import msgspec

from cactus_actors.protocol.confidence import signal_named
from cactus_actors.protocol.errors import Overloaded
from cactus_actors.protocol.results import Result
from cactus_actors.protocol.worker_messages import Audit, SecondAnswer
from cactus_actors.router.lifecycle.job_factory import JobFactory
from cactus_actors.router.router_state import RequiredThreshold, RouterState
from cactus_actors.router.state.job import Job
from cactus_actors.router.state.worker import WorkerRecord

MAX_ASKED = 16
"""Audits that a model of the service answers at once."""


class AuditSampler:
    """Sends a random share of the answers that passed all gates to a cloud worker, which compares them with a second.

    Answers are audited only of jobs that might have been handed off. The second answer is the cloud's, or in a cascade
    without a cloud that of its last model, which is asked first. The sampler notes the thresholds that the worker
    requires. Which answers are drawn does not depend on anything that clients choose.
    """

    def __init__(self, state: RouterState, factory: JobFactory) -> None:
        self._state = state
        self._factory = factory
        self._outbox = state.outbox
        self._workers = state.fleets.cloud.workers
        self._share = state.settings.audit_share
        self._gates = state.settings.handoff_gates
        self._last_model = state.settings.cascade.last_model
        self._num_asked = 0
        self._random = random.Random(state.facts.epoch)  # noqa: S311  a sample, and no secret

    def on_report(self, worker: WorkerRecord) -> None:
        """Record the thresholds that a cloud worker requires, for new jobs."""
        audits = worker.report.audits
        if audits is not None:
            self._state.required = {
                tier: RequiredThreshold(one.min_threshold, one.step) for tier, one in audits.by_tier.items()
            }

    def on_ended(self, job: Job, result: Result, now: float) -> None:
        """Draw a job that has ended, once its clients have been answered."""
        if not (self._share and _has_stayed(job, result)) or self._random.random() >= self._share:
            return
        if not job.local.log.confidence_samples.entropies:
            return
        if job.tier and self._last_model:
            self._ask_last_model(job, result, now)
        elif job.prepared.policy.allow_cloud and (worker := self._worker(is_asked=True)) is not None:
            self._outbox.command(worker.identity, self._audit(job, result))

    def on_answered(self, audit: Audit, result: Result) -> None:
        """Have the answer of a cascade's last model compared; one that is not whole is not."""
        self._num_asked -= 1
        worker = self._worker(is_asked=False)
        if worker is not None and result.finish_reason in ("stop", "tool_calls"):
            second = SecondAnswer(result.text, result.tool_calls, self._last_model)
            self._outbox.command(worker.identity, msgspec.structs.replace(audit, second=second))

    def _ask_last_model(self, job: Job, result: Result, now: float) -> None:
        """Queue a job that asks the last model, behind all that clients have submitted."""
        state = self._state
        if not job.tiers or job.tiers[-1].model != self._last_model or self._num_asked >= MAX_ASKED:
            return
        fleet = state.fleets.named(self._last_model)
        if state.is_draining or not fleet.dispatcher.workers.local or self._worker(is_asked=False) is None:
            return
        job_id = f"{self._random.getrandbits(128):032x}"
        asked = self._factory.audit_of(job, job.tiers[-1], self._audit(job, result), job_id, now)
        with contextlib.suppress(Overloaded):
            fleet.dispatcher.queue.check_room(asked.reservation, now)
            self._num_asked += 1
            state.jobs.add(asked)
            state.jobs.count("accepted")
            fleet.dispatcher.queue.add(asked)

    def _worker(self, *, is_asked: bool) -> WorkerRecord | None:
        """A cloud worker, that can ask the cloud if it `is_asked`."""
        return next(
            (one for one in self._workers.cloud.values() if not is_asked or one.report.unavailable is None), None
        )

    def _audit(self, job: Job, result: Result) -> Audit:
        prepared = job.prepared
        signal = signal_named(self._state.settings.confidence_signal, self._state.fleets.of(job).served.fits)
        return Audit(
            request=prepared.request,
            params=prepared.params,
            text=result.text,
            calls=result.tool_calls,
            signal=self._gates.lowest(signal, job.local.log.confidence_samples),
            threshold=job.threshold,
            step=job.threshold_step,
            tenant=job.submission.account or job.tenant,
            num_prompt_tokens=len(prepared.prompt_ids),
            tool_markup=prepared.tool_markup,
            tools=prepared.readable_tools,
            single_call=prepared.single_call,
            group=prepared.policy.group,
            tier=job.tier,
        )


def _has_stayed(job: Job, result: Result) -> bool:
    """True for a whole answer that passed the gates of a job that the service's signal might have handed off."""
    return (
        job.is_gated
        and not job.prepared.policy.compares_entropy
        and job.handoff.gate_failure is None
        and job.may_be_handed_off
        and result.finish_reason in ("stop", "tool_calls")
    )

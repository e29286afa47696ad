"""Makes the Dispatch message of a job, in tokens for a local worker or in text for a cloud."""

from __future__ import annotations

from cactus_actors.protocol.prompt_probe import candidate_layers
from cactus_actors.protocol.worker_messages import Dispatch
from cactus_actors.router.state.job import Job
from cactus_actors.router.state.worker import Assignment


def local_dispatch(assignment: Assignment, now: float) -> Dispatch:
    """The message with which a worker continues after the last token in the job's log."""
    job, prepared = assignment.job, assignment.job.prepared
    return Dispatch(
        dispatch_id=assignment.dispatch_id,
        job_id=job.job_id,
        prompt_ids=prepared.prompt_ids,
        emitted_ids=list(job.local.log.token_ids),
        params=prepared.params,
        choice=prepared.choice,
        timeout_s=_time_left(job, now),
        cache_salt=prepared.policy.cache_salt,
        task=prepared.task,
        grammar=prepared.grammar,
        mirostat_mu=job.local.mirostat_mu,
        pictures=prepared.pictures,
        adapter=job.submission.adapter,
        tapped_layers=_tapped_layers(assignment),
    )


def cloud_dispatch(assignment: Assignment, now: float) -> Dispatch:
    """The message for a cloud worker; it carries text, because clouds have other token ids."""
    job, prepared = assignment.job, assignment.job.prepared
    return Dispatch(
        dispatch_id=assignment.dispatch_id,
        job_id=job.job_id,
        prompt_ids=[],
        emitted_ids=[],
        params=prepared.params,
        timeout_s=_time_left(job, now),
        request=prepared.request,
        tenant=job.submission.account or job.tenant,
        num_prompt_tokens=len(prepared.prompt_ids),
    )


def _tapped_layers(assignment: Assignment) -> list[int]:
    """The layers that the gate on the prompt needs, and those for a fit where the job asks for them."""
    job = assignment.job
    if len(job.local.log):
        return []
    layers = set() if job.prompt_probe is None else {job.prompt_probe.layer}
    if job.prepared.policy.returns_gate_inputs:
        layers.update(candidate_layers(assignment.worker.hello.num_layers))
    return sorted(layers)


def _time_left(job: Job, now: float) -> float | None:
    return None if job.deadline is None else max(0.0, job.deadline - now)

"""Makes the record of a job from its prepared request."""

from __future__ import annotations

import msgspec

from cactus_actors.protocol.block_hashes import block_hashes
from cactus_actors.protocol.exact_integers import text_if_inexact
from cactus_actors.protocol.messages import Accepted
from cactus_actors.protocol.worker_messages import Audit
from cactus_actors.router.router_state import RequiredThreshold, RouterState
from cactus_actors.router.scheduling.model_fleet import ModelFleet
from cactus_actors.router.state.job import Job, share_owner
from cactus_actors.router.state.local_run import LocalAnswer
from cactus_actors.router.state.prepared_request import PreparedRequest, PreparedTier
from cactus_actors.router.state.queue_load import load_of_request
from cactus_actors.router.state.reservation import Reservation
from cactus_actors.router.state.submission import PendingSubmit
from cactus_actors.router.state.token_log import TokenLog

AUDIT_TIMEOUT_S = 600.0
AUDIT_PRIORITY = 1_000_000
"""Behind all work of clients."""


class JobFactory:
    """Applies the grants of its key and the settings of the service to a prepared request."""

    def __init__(self, state: RouterState) -> None:
        self._state = state
        self._num_made = 0

    def timeout_s(self, given: float | None, pending: PendingSubmit) -> float | None:
        """The time limit of a job: the given one, else the service's for work that a client waits for."""
        if given is None and not pending.reservation.is_background:
            return self._state.settings.job_timeout_s
        return given

    def job(self, pending: PendingSubmit, prepared: PreparedRequest) -> Job:
        """A job that is not admitted yet."""
        state, fleet = self._state, self._state.fleets.of(pending)
        prepared, tiers = self._tiers(pending, prepared)
        submission, params = pending.submission, prepared.params
        self._num_made += 1
        job = Job(
            pending.job_id,
            submission,
            Reservation(
                share_owner(submission.account, submission.tenant, prepared.policy.user),
                submission.grants.weight,
                load_of_request(pending.content, prepared),
                fleet.dispatcher.forecast.work_of_prepared(prepared),
                prepared.policy.priority > 0,
            ),
            prepared,
            Accepted(
                job_id=pending.job_id,
                epoch=state.facts.epoch,
                prompt_tokens=len(prepared.prompt_ids),
                seed=params.seed,
                prompt_text=prepared.prompt_text,
                tool_markup=prepared.tool_markup,
                durable=state.has_journal,
                seed_text=text_if_inexact(params.seed),
            ),
            self._num_made,
            local_answer(fleet, prepared, is_cascade=submission.is_cascade),
            pending.requesters,
        )
        job.tiers = tiers
        require_threshold(state, job)
        tier = None if pending.record is None else pending.record.tier
        job.begin_at(tier.threshold if tier is not None and tier.model == submission.model else job.threshold)
        if is_judged_by_prompt(job):
            job.prompt_probe = fleet.served.prompt_probe
        return job

    def audit_of(self, job: Job, tier: PreparedTier, audit: Audit, job_id: str, now: float) -> Job:
        """A background job that asks the model of a later tier what this job was asked, for an audit."""
        fleet, prepared = self._state.fleets.named(tier.model), tier.prepared
        policy = msgspec.structs.replace(
            prepared.policy,
            allow_cloud=False,
            cloud_handoff_threshold=0.0,
            timeout_s=AUDIT_TIMEOUT_S,
            priority=AUDIT_PRIORITY,
        )
        prepared = msgspec.structs.replace(prepared, policy=policy)
        self._num_made += 1
        asked = Job(
            job_id,
            msgspec.structs.replace(job.submission, arrived_at=now, model=fleet.name, is_cascade=False, is_keyed=False),
            msgspec.structs.replace(
                job.reservation, work=fleet.dispatcher.forecast.work_of_prepared(prepared), is_background=True
            ),
            prepared,
            job.accepted,
            self._num_made,
            local_answer(fleet, prepared),
            {},
        )
        asked.audit, asked.is_admitted, asked.is_accepted = audit, True, True
        return asked

    def _tiers(self, pending: PendingSubmit, prepared: PreparedRequest) -> tuple[PreparedRequest, list[PreparedTier]]:
        """The request for its model and, in a cascade, for the later ones, each with the threshold of its tier."""
        if not pending.submission.is_cascade:
            return self.granted(pending, prepared), []
        all_tiers = [PreparedTier(pending.submission.model, prepared), *prepared.tiers]
        last = all_tiers[-1]
        first, *others = (self._of_cascade(pending, tier, is_last=tier is last) for tier in all_tiers)
        return first.prepared, others

    def _of_cascade(self, pending: PendingSubmit, tier: PreparedTier, *, is_last: bool) -> PreparedTier:
        cascade, prepared = self._state.settings.cascade, self.granted(pending, tier.prepared)
        policy, refusal = prepared.policy, prepared.cloud_refusal
        if not cascade.ends_in_cloud:
            refusal = "the cascade does not end in the cloud"
        threshold = cascade.threshold_of(tier.model)
        policy = msgspec.structs.replace(
            policy,
            allow_cloud=policy.allow_cloud and cascade.ends_in_cloud,
            cloud_handoff_threshold=0.0 if is_last and not cascade.ends_in_cloud else threshold,
            compares_entropy=False,
        )
        prepared = msgspec.structs.replace(prepared, policy=policy, cloud_refusal=refusal, tiers=[])
        return PreparedTier(tier.model, prepared)

    def granted(self, pending: PendingSubmit, prepared: PreparedRequest) -> PreparedRequest:
        """The request with its tenant's cache salt, its key's right to the cloud, and its time limit."""
        policy, hashes, cloud_refusal = prepared.policy, prepared.block_hashes, prepared.cloud_refusal
        timeout_s = self.timeout_s(policy.timeout_s, pending)
        salt = policy.cache_salt
        adapter = pending.submission.adapter
        if pending.tenant:
            salt = self._state.options.cache_salt(pending.tenant, salt)
        if pending.tenant or adapter:
            hashes = block_hashes(prepared.prompt_ids, salt, prepared.picture_spans, adapter) if hashes else ()
        if adapter:
            cloud_refusal = "a cloud does not have the adapter"
        if not pending.submission.grants.allow_cloud:
            cloud_refusal = "the key does not allow the cloud"
        policy = msgspec.structs.replace(
            policy,
            cache_salt=salt,
            timeout_s=timeout_s,
            allow_cloud=policy.allow_cloud and pending.submission.grants.allow_cloud and not adapter,
        )
        return msgspec.structs.replace(prepared, policy=policy, block_hashes=hashes, cloud_refusal=cloud_refusal)


def require_threshold(state: RouterState, job: Job) -> None:
    """Raise the threshold of a job, at its model in a cascade, to the one that audits require."""
    if job.is_gated and not job.prepared.policy.compares_entropy:
        required = state.required.get(job.tier, RequiredThreshold())
        job.threshold, job.threshold_step = max(job.threshold, required.minimum), required.step


def is_judged_by_prompt(job: Job) -> bool:
    """True if the value of the prompt is compared, or returned; a probe is that of the model without adapters."""
    policy = job.prepared.policy
    is_compared = job.is_gated and not policy.compares_entropy
    return (is_compared or policy.returns_gate_inputs) and not job.submission.adapter


def local_answer(fleet: ModelFleet, prepared: PreparedRequest, *, is_cascade: bool = False) -> LocalAnswer:
    """The answer of a model to a request, before its first token; the stream of a cascade names the model."""
    params = prepared.params
    log = TokenLog(
        fleet.served.tokens if params.num_logprobs >= 0 else None,
        prepared.prompt_ids if params.prompt_logprobs else None,
    )
    if is_cascade:
        log.model = fleet.name
    return LocalAnswer(log)

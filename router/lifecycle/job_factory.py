"""Makes the record of a job from its prepared request."""

from __future__ import annotations

import msgspec

from cactus_actors.protocol.block_hashes import block_hashes
from cactus_actors.protocol.exact_integers import text_if_inexact
from cactus_actors.protocol.messages import Accepted
from cactus_actors.router.router_state import RouterState
from cactus_actors.router.state.job import Job, share_owner
from cactus_actors.router.state.local_run import LocalAnswer
from cactus_actors.router.state.prepared_request import PreparedRequest
from cactus_actors.router.state.queue_load import load_of_request
from cactus_actors.router.state.reservation import Reservation
from cactus_actors.router.state.submission import PendingSubmit
from cactus_actors.router.state.token_log import TokenLog


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
        state, prepared, fleet = self._state, self.granted(pending, prepared), self._state.fleets.of(pending)
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
            LocalAnswer(
                TokenLog(
                    fleet.served.tokens if params.num_logprobs >= 0 else None,
                    prepared.prompt_ids if params.prompt_logprobs else None,
                )
            ),
            pending.requesters,
        )
        if job.is_gated and not job.prepared.policy.compares_entropy:
            job.threshold, job.threshold_step = max(job.threshold, state.min_threshold), state.threshold_step
        if _is_judged_by_prompt(job):
            job.prompt_probe = fleet.served.prompt_probe
        return job

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


def _is_judged_by_prompt(job: Job) -> bool:
    """True if the value of the prompt is compared, or returned; a probe is that of the model without adapters."""
    policy = job.prepared.policy
    is_compared = job.is_gated and not policy.compares_entropy
    return (is_compared or policy.returns_gate_inputs) and not job.submission.adapter

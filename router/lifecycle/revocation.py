"""Ends the requests and jobs of a revoked key."""

from __future__ import annotations

from cactus_actors.protocol.errors import AuthenticationFailed
from cactus_actors.router.lifecycle.job_finisher import JobFinisher
from cactus_actors.router.router_state import RouterState
from cactus_actors.router.state.caller import RevokedKey


def revoke(revoked: RevokedKey, state: RouterState, finisher: JobFinisher, now: float) -> None:
    """Answer all waiting requests of that key's connections with an error.

    Jobs belong to tenants: they continue for the tenant's other keys, and end if there is none.
    """
    error = AuthenticationFailed(f"the key {revoked.caller.name!r} was revoked")
    tenant = revoked.caller.tenant if revoked.is_last else None
    for pending in state.pending.values():
        for identity in revoked.clients & pending.requesters.keys():
            encoding = pending.requesters.pop(identity)
            state.outbox.reject(identity, error, encoding, job_id=pending.job_id)
        if pending.tenant == tenant:
            pending.refusal = error
    for job in list(state.jobs.live.values()):
        for identity in revoked.clients & job.attached.keys():
            state.outbox.reject(identity, error, job.attached.pop(identity), job_id=job.job_id)
        if job.tenant == tenant:
            finisher.fail(job, error, now)

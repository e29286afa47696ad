"""What becomes of jobs when a key is revoked."""

from __future__ import annotations

from cactus_actors.protocol.errors import AuthenticationFailed
from cactus_actors.router.effects import Outbox
from cactus_actors.router.lifecycle.job_finisher import Closing
from cactus_actors.router.state.caller import Revoked
from cactus_actors.router.state.job_table import JobTable
from cactus_actors.router.state.pending_submits import Arrivals


def revoke(revoked: Revoked, arrivals: Arrivals, table: JobTable, closing: Closing, outbox: Outbox, now: float) -> None:
    """Answer everybody who waits at a connection of that key, and let them hear no more.

    Jobs belong to tenants: they go on for the tenant's other keys, and end where there is none.
    """
    error = AuthenticationFailed(f"the key {revoked.caller.name!r} was revoked")
    tenant = revoked.caller.tenant if revoked.is_last else None
    for arrival in arrivals:
        arrival.later = [(identity, ask) for identity, ask in arrival.later if identity not in revoked.clients]
        for identity in revoked.clients & arrival.askers.keys():
            encoding = arrival.askers.pop(identity)
            outbox.reject(identity, error, encoding, job_id=arrival.job_id)
        if arrival.tenant == tenant:
            arrival.refusal = error
    for job in list(table.live.values()):
        for identity in revoked.clients & job.attached.keys():
            outbox.reject(identity, error, job.attached.pop(identity), job_id=job.job_id)
        if job.tenant == tenant:
            closing.fail(job, error, now)

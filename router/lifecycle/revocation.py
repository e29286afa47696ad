"""What becomes of jobs when a key is revoked."""

from __future__ import annotations

from cactus_actors.protocol.errors import AuthenticationFailed
from cactus_actors.router.effects import Outbox
from cactus_actors.router.lifecycle.job_finisher import JobFinisher
from cactus_actors.router.state.caller import RevokedKey
from cactus_actors.router.state.job_table import JobTable
from cactus_actors.router.state.pending_submits import PendingSubmits


def revoke(
    revoked: RevokedKey, pending: PendingSubmits, table: JobTable, finisher: JobFinisher, outbox: Outbox, now: float
) -> None:
    """Answer everybody who waits at a connection of that key, and let them hear no more.

    Jobs belong to tenants: they go on for the tenant's other keys, and end where there is none.
    """
    error = AuthenticationFailed(f"the key {revoked.caller.name!r} was revoked")
    tenant = revoked.caller.tenant if revoked.is_last else None
    for submit in pending:
        submit.deferred = [(identity, ask) for identity, ask in submit.deferred if identity not in revoked.clients]
        for identity in revoked.clients & submit.requesters.keys():
            encoding = submit.requesters.pop(identity)
            outbox.reject(identity, error, encoding, job_id=submit.job_id)
        if submit.tenant == tenant:
            submit.refusal = error
    for job in list(table.live.values()):
        for identity in revoked.clients & job.attached.keys():
            outbox.reject(identity, error, job.attached.pop(identity), job_id=job.job_id)
        if job.tenant == tenant:
            finisher.fail(job, error, now)

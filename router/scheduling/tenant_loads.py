"""The waiting and running jobs of each owner of a share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from cactus_actors.protocol.totals import TenantLoad
from cactus_actors.router.scheduling.model_fleet import ModelFleet

MAX_TENANTS = 100


def tenant_loads(fleets: Iterable[ModelFleet]) -> list[TenantLoad]:
    """The loads of the owners with the most jobs, those with the most waiting ones first."""
    waiting: Counter[str] = Counter()
    running: Counter[str] = Counter()
    for fleet in fleets:
        waiting.update(job.user for job in fleet.dispatcher.queue)
        for worker in fleet.dispatcher.workers:
            running.update(assignment.job.user for assignment in worker.assignments.values())
    names = sorted(waiting | running, key=lambda name: (-waiting[name], -running[name], name))
    return [TenantLoad(name=name, waiting=waiting[name], running=running[name]) for name in names[:MAX_TENANTS]]

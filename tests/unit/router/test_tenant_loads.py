"""Operators see whose jobs wait and run; others do not."""

from __future__ import annotations

from cactus_actors.protocol.messages import Status, StatusRequest
from cactus_actors.protocol.totals import TenantLoad
from cactus_actors.router.scheduling.tenant_loads import MAX_TENANTS
from cactus_actors.router.state.caller import Caller
from tests.support.router.core_harness import RouterHarness

CLIENT = Caller(name="c", role="client", tenant="research", max_topics=8)


def status_of(router: RouterHarness, caller: Caller | None = None, *, with_totals: bool = True) -> Status:
    request = StatusRequest(with_totals=with_totals)
    [status] = router.client(request) if caller is None else router.client(request, caller=caller)
    assert isinstance(status, Status)
    return status


def test_loads_are_by_owner_and_those_with_most_waiting_jobs_come_first() -> None:
    router = RouterHarness()
    router.connect(num_slots=2)
    for number, user in enumerate(("ann", "ann", "bob", "bob", "bob", "cleo")):
        router.submit(number, user=user)
    tenants = status_of(router).held.tenants
    assert sum(load.running for load in tenants) == 2
    assert sum(load.waiting for load in tenants) == 4
    assert {load.name: load.waiting + load.running for load in tenants} == {"ann": 2, "bob": 3, "cleo": 1}
    assert [load.waiting for load in tenants] == sorted((load.waiting for load in tenants), reverse=True)
    assert status_of(router, with_totals=False).held.tenants == []


def test_clients_do_not_see_the_loads() -> None:
    router = RouterHarness()
    router.submit(1, user="ann")
    assert status_of(router).held.tenants == [TenantLoad(name="ann", waiting=1, running=0)]
    assert status_of(router, CLIENT).held.tenants == []


def test_the_list_has_an_end() -> None:
    router = RouterHarness()
    for number in range(MAX_TENANTS + 3):
        router.submit(number, user=f"user {number}")
    assert len(status_of(router).held.tenants) == MAX_TENANTS

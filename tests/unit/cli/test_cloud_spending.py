"""Spending at the cloud, from the reports of its actor to status, metrics and the terminal."""

from __future__ import annotations

import msgspec

from cactus_actors.cli.status_page import facts_of
from cactus_actors.gateway.metrics.service_metrics import families_of
from cactus_actors.protocol.messages import Status, StatusRequest
from cactus_actors.protocol.totals import CloudSpending
from cactus_actors.router.state.caller import ANONYMOUS, Caller
from tests.support.router.core_harness import CLIENT, RouterHarness

ALL = CloudSpending(period="2026-02", requests=3, tokens=120, cost=0.5, currency="EUR")
ANN = CloudSpending(period="2026-02", tenant="ann", requests=1, tokens=20, cost=0.25, currency="EUR")
A_CLIENT = Caller(name="k", role="client", tenant="ann", max_topics=8)


def told(router: RouterHarness, caller: Caller = ANONYMOUS) -> Status:
    [status] = router.client(StatusRequest(), CLIENT, caller)
    assert isinstance(status, Status)
    return status


def spender() -> RouterHarness:
    router = RouterHarness()
    cloud = router.connect("cloud", kind="cloud")
    router.say(cloud, msgspec.structs.replace(cloud.report(), spent=[ALL, ANN]))
    router.say(cloud, cloud.report())  # nothing is new
    return router


def test_operators_see_each_tenant_s_spending_and_clients_the_total() -> None:
    router = spender()
    assert told(router).workers[0].spent == [ALL, ANN]
    assert told(router, A_CLIENT).workers[0].spent == [ALL]


def test_a_new_report_replaces_the_last_one() -> None:
    router = spender()
    [cloud] = router.workers.values()
    router.say(cloud, msgspec.structs.replace(cloud.report(), spent=[ALL]))
    assert told(router).workers[0].spent == [ALL]


def test_metrics_have_periods_and_no_tenants() -> None:
    samples = {
        sample.name: (sample.labels, sample.value)
        for family in families_of(told(spender()))
        for sample in family.samples
        if "spent" in sample.name
    }
    labels = {"worker": "cloud", "period": "2026-02"}
    assert samples == {
        "cactus_cloud_spent_requests": (labels, 3),
        "cactus_cloud_spent_tokens": (labels, 120),
        "cactus_cloud_spent_cost": ({**labels, "currency": "EUR"}, 0.5),
    }


def test_the_terminal_shows_no_amount_without_spending() -> None:
    free = msgspec.structs.replace(ALL, cost=0.0)
    little = msgspec.structs.replace(ANN, cost=0.00004)
    router = RouterHarness()
    cloud = router.connect("cloud", kind="cloud")
    router.say(cloud, msgspec.structs.replace(cloud.report(), spent=[free, little]))
    assert [fact for label, fact in facts_of(told(router)) if label == "cloud"] == [
        "2026-02, all tenants: 3 requests, 120 tokens",
        "2026-02, ann: 1 request, 20 tokens, less than 0.0001 EUR",
    ]


def test_the_terminal_shows_every_row() -> None:
    lines = [fact for label, fact in facts_of(told(spender())) if label == "cloud"]
    assert lines == [
        "2026-02, all tenants: 3 requests, 120 tokens, 0.5000 EUR",
        "2026-02, ann: 1 request, 20 tokens, 0.2500 EUR",
    ]

"""Budgets of requests, tokens and money, for all tenants and for each, in every period of UTC."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cactus_actors.config import CloudBudget, HandoffSettings
from cactus_actors.config_reading import make_config, read_config_file
from cactus_actors.handoff.metering import Meter, Prices
from cactus_actors.handoff.spending import MAX_ROWS, Spending, period_at
from cactus_actors.protocol.errors import ConfigurationInvalid
from cactus_actors.protocol.results import Usage

NOON = datetime(2026, 1, 31, 12, 30, tzinfo=UTC).timestamp()
HOUR = 3600.0


class Clock:
    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def spending(clock: Clock, *budgets: CloudBudget, path: Path | None = None) -> Spending:
    return Spending(budgets, clock, path)


def test_periods_are_those_of_utc() -> None:
    assert period_at("hour", NOON) == "2026-01-31T12"
    assert period_at("day", NOON) == "2026-01-31"
    assert period_at("month", NOON) == "2026-01"
    assert period_at(None, NOON) == "all"
    assert period_at("month", NOON + 12 * HOUR) == "2026-02"


@pytest.mark.parametrize(
    ("budget", "spent"),
    [
        (CloudBudget(max_requests=2), {"requests": 1}),
        (CloudBudget(max_tokens=20), {"tokens": 10}),
        (CloudBudget(max_cost=0.5), {"cost": 0.25}),
    ],
)
def test_no_request_is_allowed_after_a_budget_is_reached(
    clock: Clock, budget: CloudBudget, spent: dict[str, Any]
) -> None:
    books = spending(clock, budget)
    assert books.refusal() is None
    books.add("ann", **spent)
    assert (books.refusal(), books.refusal("bob")) == (None, None)
    books.add("bob", **spent)
    assert books.refusal() == books.refusal("ann") == "budget spent"


def test_a_budget_is_renewed_each_period(clock: Clock) -> None:
    books = spending(clock, CloudBudget(period="hour", max_tokens=10), CloudBudget(period="day", max_tokens=15))
    books.add("", tokens=10)
    assert books.refusal() == "budget spent for this hour"
    clock.now += 0.5 * HOUR
    assert books.refusal() is None
    books.add("", tokens=5)
    assert books.refusal() == "budget spent for this day"
    clock.now += 12 * HOUR
    assert books.refusal() is None
    books.add("", tokens=1)
    assert {row.period for row in books.rows()} == {
        "2026-02-01T01",
        "2026-02-01",
    }  # past periods are forgotten


def test_each_tenant_has_a_budget_of_its_own(clock: Clock) -> None:
    books = spending(clock, CloudBudget(period="month", per_tenant=True, max_requests=1), CloudBudget(max_requests=3))
    books.add("ann", requests=1)
    assert books.refusal("ann") == "the tenant's budget spent for this month"
    assert (books.refusal(), books.refusal("bob")) == (None, None)
    books.add("bob", requests=1)
    books.add("cid", requests=1)
    assert books.refusal() == books.refusal("dan") == "budget spent"


def test_spending_survives_a_restart(clock: Clock, tmp_path: Path) -> None:
    budgets = (CloudBudget(period="day", per_tenant=True, max_cost=1.0), CloudBudget(max_tokens=1000))
    path = tmp_path / "state" / "spending.json"
    first = spending(clock, *budgets, path=path)
    first.add("ann", requests=1, tokens=100, cost=0.6)
    first.add("bob", requests=1, tokens=100, cost=0.1)
    second = spending(clock, *budgets, path=path)
    assert {(row.payer, row.tokens, row.cost) for row in second.rows()} == {
        ("=ann", 100, 0.6), ("=bob", 100, 0.1), ("*", 200, 0.7),
    }  # fmt: skip
    second.add("ann", cost=0.4)
    assert spending(clock, *budgets, path=path).refusal("ann") == "the tenant's budget spent for this day"
    assert path.stat().st_mode & 0o077 == 0


def test_without_budgets_spending_is_reported_and_not_stored(clock: Clock, tmp_path: Path) -> None:
    books = spending(clock, path=tmp_path / "spending.json")
    books.add("ann", requests=1, tokens=100, cost=1.0)
    books.add("bob", requests=2, tokens=10, cost=2.0)
    assert [(row.period, row.tenant, row.requests, row.tokens, row.cost) for row in books.report("EUR")] == [
        ("all", None, 3, 110, 3.0),
        ("all", "bob", 2, 10, 2.0),
        ("all", "ann", 1, 100, 1.0),
    ]
    assert {row.currency for row in books.report("EUR")} == {"EUR"}
    assert books.refusal("ann") is None
    assert [*tmp_path.iterdir()] == []


def test_the_report_has_a_bounded_number_of_tenants(clock: Clock) -> None:
    books = spending(clock, CloudBudget(max_tokens=10**9), CloudBudget(per_tenant=True, max_tokens=10**9))
    for number in range(MAX_ROWS + 5):
        books.add(f"tenant-{number}", tokens=number)
    rows = books.report("USD")
    assert len(rows) == MAX_ROWS
    assert (rows[0].tenant, rows[1].tenant) == (None, f"tenant-{MAX_ROWS + 4}")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[",
        b"{}",
        b'[{"period":"all"}]',
        b"\xff",
        b'[{"period":"all","payer":"*","tokens":18446744073709551615}]',
        b'[{"period":"all","payer":"*","tokens":1000000000000000000000000000000}]',
        b'[{"period":"all","payer":"*","tokens":-1}]',
        b'[{"period":"all","payer":"*","cost":-4000.0}]',
        b'[{"period":"all","payer":"*","requests":-1}]',
    ],
)
def test_an_unreadable_record_allows_no_request(clock: Clock, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "spending.json"
    path.write_bytes(content)
    path.chmod(0o600)
    books = spending(clock, CloudBudget(max_requests=1), path=path)
    assert books.refusal() == books.refusal("ann") == "the record of spending cannot be read"


def test_an_unwritable_disk_is_logged_once(clock: Clock, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "state" / "spending.json"
    books = spending(clock, CloudBudget(max_requests=3), path=path)
    path.parent.write_text("in the way")
    books.add("ann", requests=1)
    books.add("ann", requests=1)
    assert len(caplog.records) == 1
    assert books.refusal() is None
    path.parent.unlink()
    books.add("ann", requests=1)
    assert spending(clock, CloudBudget(max_requests=3), path=path).refusal() == "budget spent"


@given(
    st.lists(
        st.tuples(st.sampled_from("ab"), st.integers(0, 5), st.floats(0, 2 * HOUR), st.booleans()),
        max_size=30,
    )
)
def test_spending_exceeds_a_budget_by_at_most_the_requests_in_flight(
    asked: list[tuple[str, int, float, bool]],
) -> None:
    clock = Clock()
    books = spending(
        clock,
        CloudBudget(period="hour", per_tenant=True, max_tokens=10),
        CloudBudget(period="day", max_tokens=40),
    )
    spent: dict[tuple[str, str], int] = {}
    for tenant, tokens, seconds, _ in asked:
        clock.now += seconds
        if books.refusal(tenant) is None:
            books.add(tenant, tokens=tokens)
            for key in ((period_at("hour", clock.now), tenant), (period_at("day", clock.now), "*")):
                spent[key] = spent.get(key, 0) + tokens
    for (_, tenant), total in spent.items():
        assert total < (40 if tenant == "*" else 10) + 5


# prices


def test_prices_are_per_million_tokens() -> None:
    prices = Prices.of(HandoffSettings(prompt_price=0.15, completion_price=0.6, currency="EUR"))
    assert prices == Prices(0.15, 0.6, "EUR")
    assert prices.cost(Usage(prompt_tokens=2_000_000, completion_tokens=500_000)) == 0.6
    assert Prices(0.1, 0.3, "EUR").cost(Usage(prompt_tokens=9, completion_tokens=4)) == 2.1e-6
    assert Prices.of(HandoffSettings()) is None


@pytest.mark.parametrize(
    "settings",
    [
        HandoffSettings(prompt_price=1.0),
        HandoffSettings(completion_price=1.0),
        HandoffSettings(budgets=[CloudBudget(max_cost=1.0)]),
    ],
)
def test_money_needs_both_prices(settings: HandoffSettings) -> None:
    with pytest.raises(ConfigurationInvalid, match="_price"):
        Prices.of(settings)


def test_the_cost_of_a_job_is_recorded_once(clock: Clock) -> None:
    books = spending(clock, CloudBudget(per_tenant=True, max_tokens=1000))
    prices = Prices(1.0, 2.0, "USD")
    told = Meter(books, "ann", 10)
    told.on_request()
    told.has_begun = True
    told.usage = Usage(prompt_tokens=12, completion_tokens=3)
    assert told.settle(prices) == pytest.approx(18e-6)
    silent = Meter(books, "ann", 10)  # began, and broke off before its usage was reported
    silent.on_request()
    silent.has_begun, silent.num_chunks = True, 4
    assert silent.counted() == Usage(prompt_tokens=10, completion_tokens=4)
    assert silent.settle(None) is None
    refused = Meter(books, "ann", 10)  # never began
    refused.on_request()
    assert (refused.counted(), refused.settle(prices)) == (None, None)
    [row] = books.rows()
    assert (row.requests, row.tokens, row.cost) == (3, 29, pytest.approx(18e-6))


def test_the_settings_are_read_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "serve.toml").write_text(
        "[handoff]\nprompt_price = 0.15\ncompletion_price = 0.6\nmax_wait_s = 5\n"
        '[[handoff.budgets]]\nperiod = "day"\nmax_cost = 20\n'
        '[[handoff.budgets]]\nperiod = "month"\nper_tenant = true\nmax_tokens = 1000000\n'
    )
    handoff = make_config(read_config_file(tmp_path / "serve.toml")).handoff
    assert handoff.budgets == [
        CloudBudget(period="day", max_cost=20.0),
        CloudBudget(period="month", per_tenant=True, max_tokens=1_000_000),
    ]
    assert handoff.max_wait_s == 5.0
    (tmp_path / "serve.toml").write_text('[[handoff.budgets]]\nperiod = "year"\n')
    with pytest.raises(ConfigurationInvalid, match=r"handoff\.budgets\[0\]\.period"):
        read_config_file(tmp_path / "serve.toml")

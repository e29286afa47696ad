"""Spending at the cloud in each period, checked against budgets."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec

from cactus_actors.config import CloudBudget, SpendingPeriod
from cactus_actors.keys.private_file import read_private, write_private
from cactus_actors.process.wall_clock import unix_offset
from cactus_actors.protocol.errors import ConfigurationInvalid
from cactus_actors.protocol.totals import CloudSpending

_log = logging.getLogger(__name__)

_FORMATS: dict[SpendingPeriod, str] = {"hour": "%Y-%m-%dT%H", "day": "%Y-%m-%d", "month": "%Y-%m"}
_EVERYBODY = "*"
MAX_ROWS = 100
"""Rows that are reported to the router."""

_Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]


class Spent(msgspec.Struct, kw_only=True):
    """The spending of one period by `payer`, a tenant or all together; `cost` is in the configured currency."""

    period: str
    payer: str
    requests: _Count = 0
    tokens: _Count = 0
    cost: Annotated[float, msgspec.Meta(ge=0)] = 0.0


class Amount(NamedTuple):
    """Requests, tokens and their cost."""

    requests: int = 0
    tokens: int = 0
    cost: float = 0.0

    def plus(self, other: Amount) -> Amount:
        return Amount(self.requests + other.requests, self.tokens + other.tokens, self.cost + other.cost)

    def minus(self, other: Amount) -> Amount:
        return Amount(self.requests - other.requests, self.tokens - other.tokens, self.cost - other.cost)


class Spending:
    """Counts spending against `budgets`; stored in the file `path`, so that it survives a restart.

    `clock` returns Unix seconds; periods are those of UTC. With an unreadable file every request is refused,
    because the spending is unknown. Without `path` a restart begins at zero, and without budgets there is one count
    for all periods.
    """

    def __init__(self, budgets: Sequence[CloudBudget], clock: Callable[[], float], path: Path | None) -> None:
        self._budgets = budgets
        self._clock = clock
        self._path = path if budgets else None
        self._spent: dict[tuple[str, str], Spent] = {}
        self._expected: dict[str, Amount] = {}
        self._damage: str | None = None
        self._is_kept = True
        if self._path is not None and self._path.exists():
            self._read(self._path)

    def refusal(self, tenant: str | None = None, more: Amount | None = None) -> str | None:
        """The reason why no request may be sent for `tenant` now, or for any tenant if it is None.

        With `more` the budgets must have that left.
        """
        if self._damage is not None:
            return self._damage
        now = self._clock()
        for budget in self._budgets:
            if budget.per_tenant and tenant is None:
                continue
            row = self._spent.get((period_at(budget.period, now), _payer_of(budget, tenant or "")))
            spent = Amount() if row is None else Amount(row.requests, row.tokens, row.cost)
            for payer, expected in self._expected.items():
                if not budget.per_tenant or payer == tenant:
                    spent = spent.plus(expected)
            if _is_used_up(budget, spent) or (more is not None and _is_exceeded(budget, spent.plus(more))):
                whose = "the tenant's budget" if budget.per_tenant else "budget"
                return f"{whose} spent" + (f" for this {budget.period}" if budget.period else "")
        return None

    def add(self, tenant: str, *, requests: int = 0, tokens: int = 0, cost: float = 0.0) -> None:
        for key in dict.fromkeys(self._keys_now(tenant)):
            spent = self._spent.get(key)
            if spent is None:
                spent = self._spent[key] = Spent(period=key[0], payer=key[1])
            spent.requests += requests
            spent.tokens += tokens
            spent.cost += cost
        self._keep()

    def expect(self, tenant: str, amount: Amount) -> None:
        """Set what requests of `tenant` that are under way will cost; the budgets count it until it is set anew."""
        self._expected.pop(tenant, None)
        if amount != Amount():
            self._expected[tenant] = amount

    def report(self, currency: str) -> list[CloudSpending]:
        """The counts for status displays: the total, and the tenants that spent most."""
        rows = sorted(self._spent.values(), key=lambda row: (row.payer != _EVERYBODY, -row.cost, -row.tokens))
        return [
            CloudSpending(
                period=row.period,
                tenant=None if row.payer == _EVERYBODY else row.payer[1:],
                requests=row.requests,
                tokens=row.tokens,
                cost=round(row.cost, 6),
                currency=currency,
            )
            for row in rows[:MAX_ROWS]
        ]

    def rows(self) -> list[Spent]:
        return list(self._spent.values())

    def _keys_now(self, tenant: str) -> Iterator[tuple[str, str]]:
        now = self._clock()
        for budget in self._budgets:
            yield period_at(budget.period, now), _payer_of(budget, tenant)
        if not self._budgets:
            yield from ((period_at(None, now), payer) for payer in (_EVERYBODY, f"={tenant}"))

    def _keep(self) -> None:
        now = self._clock()
        current = {period_at(budget.period, now) for budget in self._budgets} or {period_at(None, now)}
        self._spent = {key: spent for key, spent in self._spent.items() if key[0] in current}
        if self._path is None:
            return
        try:
            write_private(self._path, msgspec.json.encode(self.rows()))
            self._is_kept = True
        except ConfigurationInvalid as error:
            if self._is_kept:
                _log.error("the cloud spending cannot be stored: %s", error.message)
            self._is_kept = False

    def _read(self, path: Path) -> None:
        try:
            rows = msgspec.json.decode(read_private(path), type=list[Spent])
        except (ConfigurationInvalid, msgspec.DecodeError, UnicodeDecodeError):
            self._damage = "the record of spending cannot be read"
            _log.error("%s: %s; restore or remove it", path, self._damage)
            return
        self._spent = {(row.period, row.payer): row for row in rows}


def spending_of(budgets: Sequence[CloudBudget], file: str | None) -> Spending:
    """The record of spending; one in a file uses a clock that is not affected by setting the time."""
    path = None if file is None else Path(file)
    offset = unix_offset(path.parent) if path is not None and budgets else None

    def clock() -> float:
        return time.time() if offset is None else time.monotonic() + offset

    return Spending(budgets, clock, path)


def period_at(period: SpendingPeriod | None, now: float) -> str:
    """The name of the period that contains `now`, in Unix seconds."""
    return "all" if period is None else datetime.fromtimestamp(now, UTC).strftime(_FORMATS[period])


def _payer_of(budget: CloudBudget, tenant: str) -> str:
    return f"={tenant}" if budget.per_tenant else _EVERYBODY


def _is_used_up(budget: CloudBudget, spent: Amount) -> bool:
    return (
        (budget.max_requests is not None and spent.requests >= budget.max_requests)
        or (budget.max_tokens is not None and spent.tokens >= budget.max_tokens)
        or (budget.max_cost is not None and spent.cost >= budget.max_cost)
    )


def _is_exceeded(budget: CloudBudget, spent: Amount) -> bool:
    return (
        (budget.max_requests is not None and spent.requests > budget.max_requests)
        or (budget.max_tokens is not None and spent.tokens > budget.max_tokens)
        or (budget.max_cost is not None and spent.cost > budget.max_cost)
    )

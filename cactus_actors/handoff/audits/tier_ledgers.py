"""The ledgers of audits: one of each model of a cascade, and one of all other jobs, in one record."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from cactus_actors.config import HandoffSettings
from cactus_actors.handoff.audits.audit_files import AuditLabel, AuditState, UnjudgedAnswer
from cactus_actors.handoff.audits.audit_ledger import AuditLedger
from cactus_actors.protocol.totals import AuditTotals


class TierLedgers:
    """Changes the AuditState of all tiers; each is watched, and tightened, by itself.

    A model that has left the cascade loses its record.
    """

    def __init__(self, settings: HandoffSettings, state: AuditState | None, warn: Callable[[str], None]) -> None:
        states = {} if state is None else {"": state, **state.tiers}
        self._ledgers = {
            tier: AuditLedger(settings, states.get(tier), warn, tier) for tier in ("", *settings.audit_tiers)
        }

    @property
    def state(self) -> AuditState:
        """The record."""
        states = {tier: ledger.state for tier, ledger in self._ledgers.items()}
        return msgspec.structs.replace(states.pop(""), tiers=states)

    def of(self, tier: str) -> AuditLedger | None:
        """The ledger of a model, or by the name "" of jobs outside of the cascade; None if it is not audited."""
        return self._ledgers.get(tier)

    def totals(self) -> AuditTotals:
        """The counts of all tiers; without the spending."""
        counts = {tier: ledger.totals() for tier, ledger in self._ledgers.items()}
        return AuditTotals(**msgspec.structs.asdict(counts.pop("")), tiers=counts)

    def is_waiting(self, answer: UnjudgedAnswer) -> bool:
        """True for an answer that a person may still judge."""
        ledger = self.of(answer.tier)
        return ledger is not None and ledger.is_waiting(answer.id)

    def take(self, labels: Iterable[AuditLabel]) -> None:
        """Record the verdicts of people, and look at the evidence again; a reset is of all tiers."""
        for label in labels:
            for tier, ledger in self._ledgers.items():
                if label.is_reset or label.tier == tier:
                    ledger.label(label)
        for ledger in self._ledgers.values():
            ledger.look_again()

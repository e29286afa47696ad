"""Judged audits in the order of their answers, the evidence of a drift in them, and the steps that follow."""

from __future__ import annotations

import math
from collections.abc import Callable

from cactus_actors.calibration.drift_monitor import HORIZON, DriftMonitor
from cactus_actors.config import DriftAction, HandoffSettings
from cactus_actors.handoff.audits.agreement import Verdict
from cactus_actors.handoff.audits.audit_files import AuditLabel, AuditState
from cactus_actors.protocol.totals import AuditCounts

STEP_SHARE = 0.2
"""Each step of tightening hands off this share of the answers that stayed before it."""
MAX_SIGNALS = 500

_LETTERS: dict[str, str] = {"right": "r", "wrong": "w", "skip": "-"}


class AuditLedger:
    """Changes an AuditState, of one `tier` of a cascade or of all other jobs; `warn` is told of a drift, in one line.

    The monitor sees the judged answers in the order in which they were given, whenever they are judged: labels of
    many wrong answers at once, which had waited for a person, are no evidence of a drift. After each label it is
    computed anew.
    """

    def __init__(
        self, settings: HandoffSettings, state: AuditState | None, warn: Callable[[str], None], tier: str = ""
    ) -> None:
        self._max_error, self._confidence = settings.audit_max_error, settings.audit_confidence
        self._on_drift: DriftAction = settings.on_drift
        self._warn = warn
        self._tier = tier
        is_local = bool(tier and settings.audit_model)
        subject = [
            "" if is_local else settings.base_url,
            settings.audit_model if is_local else settings.model,
            settings.confidence_signal,
            f"{settings.first_gate_tokens}",
            f"{self._max_error:g}",
            f"{self._confidence:g}",
        ]
        if settings.gate == "prompt":
            subject.append(f"{settings.prompt_threshold:g}")
        if state is None:
            state = AuditState(subject=subject)
        elif state.subject != subject:
            state = AuditState(subject=subject, first=_next_of(state))
        self.state = state
        self._monitor = self._replayed()
        if state.has_drifted and self._on_drift == "tighten":
            self._tighten()
            warn(f"audits{self._of_tier} showed a drift before on_drift was tighten; {self._required}")

    @property
    def _of_tier(self) -> str:
        return f" of {self._tier}" if self._tier else ""

    @property
    def _required(self) -> str:
        whose = f"the threshold of {self._tier} is" if self._tier else "thresholds are"
        return f"from now on {whose} at least {self.state.min_threshold:.6g}"

    @property
    def next_id(self) -> int:
        """The number of the next audit."""
        return _next_of(self.state)

    def totals(self) -> AuditCounts:
        """The counts for status displays."""
        state = self.state
        return AuditCounts(
            outcomes=dict(state.outcomes),
            unjudged=state.verdicts.count("u"),
            monitored=self._monitor.num_answers,
            monitored_wrong=self._monitor.num_wrong,
            evidence=round(min(self._monitor.evidence, 1e12), 6),
            has_drifted=state.has_drifted,
            drifts=state.drifts,
            step=state.step,
            min_threshold=state.min_threshold,
        )

    def skip(self, *, has_failed: bool = False) -> None:
        """Record an audit without an answer of the cloud."""
        self.state.outcomes["failed" if has_failed else "skipped"] += 1

    def add(self, verdict: Verdict, signal: float, *, is_kept: bool = True) -> None:
        """Record the verdict of the audit `next_id`; an unjudged one that is not kept for a person is skipped."""
        state = self.state
        if verdict == "unjudged":
            state.verdicts += "u" if is_kept else "-"
            state.outcomes["skipped"] += not is_kept
        else:
            state.outcomes[verdict] += 1
            state.verdicts += _LETTERS[verdict]
            self._monitor.update(verdict == "wrong")
        state.signals = [*state.signals, signal][-MAX_SIGNALS:]
        self._look()
        if len(state.verdicts) >= HORIZON:
            state.first, state.verdicts = self.next_id, ""
            self._monitor = self._replayed()

    def is_waiting(self, number: int) -> bool:
        """True for an answer at the present threshold that a person may still judge."""
        index = number - self.state.first
        return 0 <= index < len(self.state.verdicts) and self.state.verdicts[index] == "u"

    def label(self, label: AuditLabel) -> bool:
        """Record a person's verdict; False for an answer that does not wait for one. `look_again` follows."""
        if label.is_reset:
            self.state = AuditState(subject=self.state.subject, first=self.next_id)
            return True
        if not self.is_waiting(label.id):
            return False
        state, index = self.state, label.id - self.state.first
        state.verdicts = state.verdicts[:index] + _LETTERS[label.label] + state.verdicts[index + 1 :]
        if label.label != "skip":
            state.outcomes[label.label] += 1
        return True

    def look_again(self) -> None:
        """Compute the monitor anew after labels."""
        self._monitor = self._replayed()
        self._look()

    def _replayed(self) -> DriftMonitor:
        monitor = DriftMonitor(self._max_error, self._confidence)
        for letter in self.state.verdicts:
            if letter in "rw":
                monitor.update(letter == "w")
        return monitor

    def _look(self) -> None:
        state, monitor = self.state, self._monitor
        if not monitor.has_drifted or state.has_drifted:
            return
        state.has_drifted = True
        state.drifts += 1
        found = (
            f"audits{self._of_tier} show that more than {self._max_error:.3g} of the answers that stay are wrong "
            f"({monitor.num_wrong} of {monitor.num_answers} that were judged)"
        )
        if self._on_drift == "tighten":
            self._tighten()
            self._warn(f"{found}; {self._required}")
        else:
            self._warn(f"{found}; calibrate again (docs/guide/handoff.md)")

    def _tighten(self) -> None:
        """Begin the next step: raise the threshold, and watch the answers that stay then by a new monitor."""
        state = self.state
        state.min_threshold = stricter_threshold(state.signals, state.min_threshold)
        state.step += 1
        state.first, state.verdicts, state.signals, state.has_drifted = self.next_id, "", [], False
        self._monitor = self._replayed()


def stricter_threshold(signals: list[float], present: float) -> float:
    """The threshold that hands off about STEP_SHARE of the answers with these signals, and at least the lowest."""
    ordered = sorted(signals)
    if not ordered:
        return present
    at_share = ordered[min(len(ordered) - 1, math.ceil(STEP_SHARE * len(ordered)))]
    above_lowest = next((signal for signal in ordered if signal > ordered[0]), math.nextafter(ordered[0], 2.0))
    return min(1.0, max(present, at_share, above_lowest))


def _next_of(state: AuditState) -> int:
    return state.first + len(state.verdicts)

"""The ledger of audits: evidence in the order of the answers, labels, steps of the threshold, and its record."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from cactus_actors.calibration import DriftMonitor
from cactus_actors.config import HandoffSettings
from cactus_actors.handoff.audits.audit_files import AuditFiles, AuditLabel, AuditState, UnjudgedAnswer
from cactus_actors.handoff.audits.audit_ledger import AuditLedger, stricter_threshold
from cactus_actors.handoff.audits.tier_ledgers import TierLedgers
from cactus_actors.protocol.errors import ConfigurationInvalid

WRONG = np.random.default_rng(3).random(2000) < 0.05


def ledger(state: AuditState | None = None, **settings: Any) -> tuple[AuditLedger, list[str]]:
    warnings: list[str] = []
    return AuditLedger(HandoffSettings(**settings), state, warnings.append), warnings


def until_drift(audits: AuditLedger, max_audits: int = 2000) -> int:
    for number in range(max_audits):
        drifts = audits.state.drifts
        audits.add("wrong" if number % 5 == 0 else "right", 0.5 + (number % 10) / 20)
        if audits.state.drifts > drifts:
            return number + 1
    raise AssertionError("no drift was shown")


def test_a_drift_is_told_once_and_stays() -> None:
    audits, warnings = ledger()
    assert until_drift(audits) < 200
    assert audits.totals().has_drifted
    for _ in range(50):
        audits.add("wrong", 0.9)
    [warning] = warnings
    assert "more than 0.05 of the answers that stay are wrong" in warning
    assert (audits.state.drifts, audits.totals().step, audits.totals().min_threshold) == (1, 0, 0.0)


def test_the_evidence_is_that_of_the_monitor() -> None:
    audits, _ = ledger(audit_max_error=0.1, audit_confidence=0.99)
    monitor = DriftMonitor(0.1, 0.99)
    for is_wrong in map(bool, WRONG[:500]):
        audits.add("wrong" if is_wrong else "right", 1.0)
        monitor.update(is_wrong)
    told = audits.totals()
    assert told.evidence == pytest.approx(monitor.evidence, abs=1e-6)
    assert (told.monitored, told.monitored_wrong) == (500, WRONG[:500].sum())
    assert told.outcomes == {
        "right": 500 - told.monitored_wrong,
        "wrong": told.monitored_wrong,
        "failed": 0,
        "skipped": 0,
    }


def test_labels_count_in_the_order_of_the_answers() -> None:
    """Wrong answers that a person judges all at once are no burst: the bound holds, and no drift is shown."""
    audits, warnings = ledger()
    for is_wrong in WRONG:
        audits.add("unjudged" if is_wrong else "right", 1.0)
    waiting = [1 + int(place) for place in np.flatnonzero(WRONG)]
    assert audits.totals().unjudged == len(waiting)
    for number in waiting:
        assert audits.label(AuditLabel(number, "wrong"))
    audits.look_again()
    in_order, _ = ledger()
    for is_wrong in WRONG:
        in_order.add("wrong" if is_wrong else "right", 1.0)
    assert audits.totals() == in_order.totals()
    assert warnings == []
    burst = DriftMonitor()
    for is_wrong in np.sort(WRONG):
        burst.update(bool(is_wrong))
    assert burst.has_drifted


def test_a_label_is_taken_once_and_only_by_an_answer_that_waits() -> None:
    audits, _ = ledger()
    for verdict in ("unjudged", "right", "unjudged"):
        audits.add(verdict, 1.0)  # type: ignore[arg-type]
    audits.add("unjudged", 1.0, is_kept=False)
    assert [audits.is_waiting(number) for number in range(6)] == [False, True, False, True, False, False]
    assert audits.label(AuditLabel(1, "wrong"))
    assert not any(audits.label(AuditLabel(number, "right")) for number in (0, 1, 2, 4, 5))
    assert audits.label(AuditLabel(3, "skip"))
    audits.look_again()
    assert (audits.state.verdicts, audits.totals().monitored) == ("wr--", 2)
    assert audits.totals().outcomes == {"right": 1, "wrong": 1, "failed": 0, "skipped": 1}


@pytest.mark.parametrize(
    ("signals", "present", "threshold"),
    [
        ([0.5, 0.6, 0.7, 0.8, 0.9], 0.0, 0.6),
        ([0.9, 0.5, 0.8, 0.7, 0.6] * 2, 0.3, 0.6),
        ([0.5] * 9 + [0.9], 0.5, 0.9),
        ([0.5] * 4, 0.5, math.nextafter(0.5, 1.0)),
        ([1.0] * 4, 0.5, 1.0),
        ([], 0.4, 0.4),
        ([0.2, 0.3], 0.8, 0.8),
    ],
)
def test_a_stricter_threshold_hands_off_a_fifth_or_at_least_the_lowest(
    signals: list[float], present: float, threshold: float
) -> None:
    assert stricter_threshold(signals, present) == threshold


def test_each_step_begins_a_new_monitor() -> None:
    audits, warnings = ledger(on_drift="tighten")
    first = until_drift(audits)
    assert (audits.state.step, audits.state.min_threshold, audits.totals().has_drifted) == (1, 0.6, False)
    assert audits.totals().monitored == 0
    assert (audits.state.first, audits.state.signals) == (first + 1, [])
    second = until_drift(audits)
    assert second == first
    assert audits.state.step == 2
    assert [warning.rpartition("at least ")[2] for warning in warnings] == ["0.6", "0.6"]


def test_a_record_continues_where_it_ended(tmp_path: Path) -> None:
    files = AuditFiles(tmp_path / "audits")
    whole, _ = ledger(on_drift="tighten")
    parted, _ = ledger(on_drift="tighten")
    for number in range(400):
        verdict: Any = ("right", "wrong", "right", "unjudged")[number % 4]
        whole.add(verdict, number / 400)
        parted.add(verdict, number / 400)
        if number % 37 == 0:
            files.write_state(parted.state)
            parted, _ = ledger(files.read_state(), on_drift="tighten")
    assert parted.state == whole.state
    assert parted.totals() == whole.totals()
    assert whole.state.step > 1


def test_a_drift_that_was_logged_tightens_the_threshold_when_that_is_set() -> None:
    audits, _ = ledger()
    until_drift(audits)
    later, warnings = ledger(audits.state, on_drift="tighten")
    assert (later.state.step, later.state.min_threshold, later.state.has_drifted) == (1, 0.6, False)
    [warning] = warnings
    assert warning.endswith("from now on thresholds are at least 0.6")
    assert ledger(later.state, on_drift="tighten")[1] == []


@pytest.mark.parametrize(
    "change", [{"audit_max_error": 0.1}, {"model": "other"}, {"confidence_signal": "probe"}, {"first_gate_tokens": 3}]
)
def test_another_subject_begins_anew(change: dict[str, Any]) -> None:
    audits, _ = ledger()
    until_drift(audits)
    next_id = audits.next_id
    later, _ = ledger(audits.state, **change)
    assert (later.state.verdicts, later.state.has_drifted, later.next_id) == ("", False, next_id)


def test_a_reset_begins_anew() -> None:
    audits, _ = ledger(on_drift="tighten")
    until_drift(audits)
    next_id = audits.next_id
    audits.label(AuditLabel(is_reset=True))
    audits.look_again()
    assert (audits.totals().step, audits.totals().min_threshold, audits.totals().outcomes["wrong"]) == (0, 0.0, 0)
    assert audits.next_id == next_id


def test_the_tiers_of_a_cascade_are_watched_each_by_itself(tmp_path: Path) -> None:
    warnings: list[str] = []
    settings = HandoffSettings(audit_tiers=["sprout", "qwen"], on_drift="tighten")
    ledgers = TierLedgers(settings, None, warnings.append)
    sprout, qwen, others = (ledgers.of(tier) for tier in ("sprout", "qwen", ""))
    assert sprout is not None
    assert qwen is not None
    assert others is not None
    until_drift(sprout)
    qwen.add("right", 0.9)
    others.add("unjudged", 0.9)
    [warning] = warnings
    assert warning.startswith("audits of sprout show that more than 0.05 of the answers that stay are wrong")
    assert warning.endswith("from now on the threshold of sprout is at least 0.6")
    told = ledgers.totals()
    assert {tier: (one.step, one.min_threshold, one.monitored) for tier, one in told.by_tier.items()} == {
        "": (0, 0.0, 0),
        "sprout": (1, 0.6, 0),
        "qwen": (0, 0.0, 1),
    }
    files = AuditFiles(tmp_path / "audits")
    files.write_state(ledgers.state)
    again = TierLedgers(settings, files.read_state(), warnings.append)
    assert again.totals() == told
    assert again.is_waiting(answer(1))
    assert not again.is_waiting(msgspec.structs.replace(answer(1), tier="qwen"))
    without = TierLedgers(HandoffSettings(audit_tiers=["qwen"]), files.read_state(), warnings.append)
    assert without.of("sprout") is None
    assert set(without.state.tiers) == {"qwen"}
    assert not without.is_waiting(msgspec.structs.replace(answer(1), tier="sprout"))
    again.take([AuditLabel(is_reset=True)])
    assert [one.outcomes["right"] for one in again.totals().by_tier.values()] == [0, 0, 0]
    assert len(warnings) == 1


def answer(number: int, text: str = "x") -> UnjudgedAnswer:
    return UnjudgedAnswer(id=number, time=1.0, question="q", answer=text, cloud_answer="y", model="big")


def test_the_file_of_answers_is_bounded_and_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cactus_actors.handoff.audits.audit_files.MAX_UNJUDGED_BYTES", 500)
    monkeypatch.setattr("cactus_actors.handoff.audits.audit_files.MAX_ANSWER_BYTES", 300)
    files = AuditFiles(tmp_path / "audits")
    assert files.unjudged() == []
    assert not files.add_unjudged(answer(1, "x" * 300))
    kept = [number for number in range(1, 20) if files.add_unjudged(answer(number))]
    assert 2 < len(kept) < 10
    assert [one.id for one in files.unjudged()] == kept
    path = tmp_path / "audits" / "unjudged.jsonl"
    assert path.stat().st_size <= 500
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    files.keep_unjudged([answer(kept[0])])
    assert files.add_unjudged(answer(99))
    path.chmod(0o640)
    with pytest.raises(ConfigurationInvalid, match="only its owner"):
        files.add_unjudged(answer(100))


def test_labels_stay_until_they_are_taken(tmp_path: Path) -> None:
    files = AuditFiles(tmp_path)
    assert not files.has_labels
    files.add_label(AuditLabel(1, "right"))
    files.add_label(AuditLabel(2, "wrong"))
    with pytest.raises(RuntimeError), files.taken_labels():
        raise RuntimeError
    assert files.has_labels
    with files.taken_labels() as labels:
        assert labels == [AuditLabel(1, "right"), AuditLabel(2, "wrong")]
    assert not files.has_labels
    assert files.labels() == []


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff",
        b'{"first": "x"}',
        b'{"first": 0}',
        b'{"verdicts": "rx"}',
        b'{"outcomes": {"right": 1}}',
        b'{"min_threshold": 2}',
        b'{"signals": [-1]}',
    ],
)
def test_a_damaged_record_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "state.json"
    path.touch(0o600)
    path.write_bytes(content)
    with pytest.raises(ConfigurationInvalid, match="not a record of audits"):
        AuditFiles(tmp_path).read_state()

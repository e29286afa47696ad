"""The monitor of a granted bound: its limit of false alarms, its delay, and its arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.escalation.drift import false_alarms, mean_delay
from cactus_actors.calibration import DriftMonitor
from cactus_actors.calibration.drift_monitor import EXCESS_RATES, HORIZON, PLACING_PERIOD, STAKES, Bets


def test_false_alarms_are_below_the_limit_at_the_bound_itself() -> None:
    """The hardest case: the rate of wrong answers is exactly max_error; a part of the horizon, to take seconds."""
    assert false_alarms(0.05, 300, seed=1, num_answers=20_000) <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / 300)


@pytest.mark.parametrize("num_before", [0, 10_050])
def test_a_shift_by_five_points_is_shown_within_about_500_answers(num_before: int) -> None:
    assert mean_delay(0.05, 0.10, num_before, 200, seed=2) < 550


@given(st.floats(0.001, 0.9), st.integers(0, 99))
def test_a_fair_answer_does_not_change_the_expected_wealth(max_error: float, num_right: int) -> None:
    bets = Bets(max_error, (2,))
    for _ in range(num_right):
        bets.update(np.array([False, False]))
    before = bets.wealth[0]
    bets.update(np.array([True, False]))
    wrong, right = bets.wealth
    assert wrong * max_error + right * (1 - max_error) == pytest.approx(before)
    assert wrong > before > right


def test_wealth_is_that_of_the_formula() -> None:
    """Recounted with fractions: each part of the stake has the likelihood ratio of the answers after its placing."""
    max_error = Fraction(1, 10)
    answers = np.random.default_rng(0).random(3 * PLACING_PERIOD) < 0.2
    expected = Fraction(1) - Fraction(3 * PLACING_PERIOD, HORIZON)
    for first in range(0, len(answers), PLACING_PERIOD):
        num_wrong = int(answers[first:].sum())
        num_right = len(answers) - first - num_wrong
        for excess, stake in zip(EXCESS_RATES, STAKES, strict=True):
            rate = max_error + (1 - max_error) * Fraction(str(excess))
            ratio = (rate / max_error) ** num_wrong * ((1 - rate) / (1 - max_error)) ** num_right
            expected += Fraction(str(stake)) * Fraction(PLACING_PERIOD, HORIZON) * ratio
    monitor = DriftMonitor(0.1)
    for answer in answers:
        monitor.update(bool(answer))
    assert monitor.evidence == pytest.approx(float(expected))
    assert (monitor.num_answers, monitor.num_wrong) == (len(answers), answers.sum())


def test_drift_stays_shown() -> None:
    monitor = DriftMonitor(0.05)
    while not monitor.update(is_wrong=True):
        assert monitor.evidence < 20
    assert monitor.evidence >= 20
    for _ in range(500):
        assert monitor.update(is_wrong=False)
    assert monitor.evidence < 20


def test_a_monitor_continues_after_its_horizon() -> None:
    monitor = DriftMonitor(0.05)
    for _ in range(HORIZON):
        monitor.update(is_wrong=False)
    assert monitor.evidence == pytest.approx(0, abs=0.01)
    assert monitor.update(is_wrong=False) is False
    assert monitor.evidence == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize("values", [{"max_error": 0.0}, {"max_error": 1.0}, {"confidence": 1.0}, {"confidence": 0.0}])
def test_shares_outside_of_0_to_1_are_refused(values: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(values))} must be between 0 and 1"):
        DriftMonitor(**values)


@pytest.mark.parametrize("label", [2, None, float("nan"), "wrong"])
def test_a_label_is_true_or_false(label: Any) -> None:
    monitor = DriftMonitor()
    with pytest.raises(ValueError, match="true or false"):
        monitor.update(label)
    monitor.update(np.bool_(True))
    assert (monitor.num_answers, type(monitor.num_wrong)) == (1, int)

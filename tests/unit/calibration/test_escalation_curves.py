"""The curves of escalation: their ends, their order, and the pictures that show them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.escalation.curves import SIGNAL, cascade, cost_quality, draw, panels, risk_coverage
from benchmarks.escalation.tiers import PROBE, SIGNALS, Tier

SCORES = np.array([0.9, 0.8, 0.4, 0.1])
RIGHT = np.array([True, False, True, False])


def tier(name: str, skill: float) -> Tier:
    rng = np.random.default_rng(3)
    right = rng.random(400) < skill
    scores = np.clip(rng.normal(0.4 + 0.3 * right, 0.15), 0.0, 1.0)
    return Tier(name, dict.fromkeys((*SIGNALS, PROBE), scores), right, rng.random(400) < 0.8)


def test_risk_is_that_of_the_most_confident_answers() -> None:
    curve = risk_coverage("one", SCORES, RIGHT)
    assert curve.x.tolist() == [0.25, 0.5, 0.75, 1.0]
    assert curve.y.tolist() == pytest.approx([0.0, 1 / 2, 1 / 3, 1 / 2])


def test_quality_goes_from_the_first_model_to_the_second() -> None:
    curve = cost_quality("one", SCORES, RIGHT, np.array([True, True, False, True]))
    assert curve.x.tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert curve.y.tolist() == [0.5, 0.75, 0.5, 0.75, 0.75]


def test_a_cascade_is_dearer_where_it_is_better() -> None:
    curve = cascade("one", (tier("weak", 0.4), tier("strong", 0.7)), (0.05, 0.2, 1.0))
    assert (np.diff(curve.x) >= 0).all()
    assert curve.x[0] >= 0.05
    assert curve.x[-1] <= 1.25
    assert curve.y[-1] > 0.95 > curve.y[0]


def test_equal_answers_give_equal_pictures(tmp_path: Path) -> None:
    tiers = (tier("strong", 0.7), tier("weak", 0.4))
    for turn in ("first", "second"):
        for name, both in panels(tiers).items():
            draw(both, tmp_path / f"{name}-{turn}.svg")
    for name in ("risk-coverage", "cost-quality"):
        picture = (tmp_path / f"{name}-first.svg").read_bytes()
        assert picture == (tmp_path / f"{name}-second.svg").read_bytes()
        assert b"strong" in picture
    assert SIGNAL.encode() in (tmp_path / "risk-coverage-first.svg").read_bytes()

"""The figures of the bound of cascades: violations, and costs beside those of an oracle."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.escalation.cascade_bound import COSTS, SHAPES, CascadePopulation, calibrate_cascades
from cactus_actors.calibration.cascade_granting import combinations


def population(shape: str, num_tiers: int, num: int = 4000) -> CascadePopulation:
    scores, right = SHAPES[shape](np.random.default_rng(2), num, num_tiers)
    return CascadePopulation(scores, right, COSTS[num_tiers])


def test_no_thresholds_with_the_bound_are_cheaper_than_the_oracle_s() -> None:
    questions = population("overconfident", 2)
    oracle = questions.oracle()
    assert questions.allows(oracle)
    outcomes = [questions.outcome(thresholds) for thresholds in combinations(questions.scores[:500])]
    allowed = [outcome.cost for outcome in outcomes if questions.allows(outcome)]
    assert oracle.cost <= min(allowed)
    assert min(allowed) < 1.2 * oracle.cost


def test_an_oracle_without_good_answers_asks_the_cloud() -> None:
    draw = np.random.default_rng(3)
    questions = CascadePopulation(draw.random((300, 2)), np.zeros((300, 2), bool), COSTS[2])
    assert questions.oracle().cost == pytest.approx(sum(COSTS[2]))


def test_a_few_hundred_labels_order_the_thresholds_well_enough() -> None:
    found = calibrate_cascades(population("overconfident", 2), 300, 20, seed=1)
    assert found.num_found >= 17


def test_calibrations_are_counted_and_cost_more_than_the_oracle() -> None:
    questions = population("overconfident", 2)
    found = calibrate_cascades(questions, 1000, 10, seed=1)
    assert (found.num, found.num_found) == (10, 10)
    assert found.num_violated <= 3
    low, high = found.interval
    assert low <= found.num_violated / found.num <= high
    assert questions.oracle().cost < found.cost < 1.6 * questions.oracle().cost
    none = calibrate_cascades(questions, 30, 3, seed=1)
    assert (none.num_found, none.num_violated) == (0, 0)
    assert none.cost == pytest.approx(sum(COSTS[2]))

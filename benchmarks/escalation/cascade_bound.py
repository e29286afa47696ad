"""Measures how often the bound of `grant_cascade` is violated, and what its thresholds cost beside an oracle's.

python -m benchmarks.escalation.cascade_bound

A calibration draws n labelled questions and asks for the cheapest thresholds with which at most --max-error of the
answers that stay are wrong, at a confidence of 95 %. The bound is violated if the answers of the whole population that
stay by these thresholds are wrong more often. The oracle knows the population: of all thresholds with at most
--max-error wrong answers, its own have the least mean cost. A calibration that finds no thresholds asks all tiers, and
then the cloud.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt

from cactus_actors.calibration.cascade_granting import Bools, CascadeOutcome, Floats, grant_cascade, outcome_of
from cactus_actors.calibration.thresholds import exact_interval

CONFIDENCE = 0.95
NUM_LABELS = (300, 1000)
POPULATION = 100_000
COSTS = {2: (0.05, 0.2, 1.0), 3: (0.02, 0.05, 0.2, 1.0)}
"""Assumed costs of asking each tier and the cloud, by the number of tiers."""
SKILLS = {2: (0.3, 1.2), 3: (0.0, 0.6, 1.2)}
MAX_LEVELS = {2: 30, 3: 12}
"""The thresholds of a tier that the oracle compares in each of its rounds."""
NUM_ROUNDS = 3

Draw = tuple[Floats, Bools]


def varying_difficulty(draw: np.random.Generator, num: int, num_tiers: int) -> Draw:
    """A question that is difficult for one tier is so for the others; scores from two normal distributions."""
    right = _verdicts(draw, num, num_tiers)
    return draw.normal(2.0 * right, 1.0), right


def overconfident(draw: np.random.Generator, num: int, num_tiers: int) -> Draw:
    """The same with probabilities near 1, of wrong answers, too."""
    right = _verdicts(draw, num, num_tiers)
    return np.where(right, draw.beta(8.0, 1.0, right.shape), draw.beta(3.0, 3.0, right.shape)), right


def _verdicts(draw: np.random.Generator, num: int, num_tiers: int) -> Bools:
    difficulty = draw.normal(0.0, 1.0, (num, 1))
    right: Bools = draw.normal(0.0, 0.7, (num, num_tiers)) + np.array(SKILLS[num_tiers]) > difficulty
    return right


SHAPES: dict[str, Callable[[np.random.Generator, int, int], Draw]] = {
    "varying difficulty": varying_difficulty,
    "overconfident": overconfident,
}


@dataclass(frozen=True, slots=True)
class CascadePopulation:
    """Questions with the scores and verdicts of all tiers (questions, tiers), and the costs of asking."""

    scores: Floats
    right: Bools
    costs: Sequence[float]
    max_error: float = 0.05

    def outcome(self, thresholds: tuple[float, ...]) -> CascadeOutcome:
        return outcome_of(self.scores, self.right, self.costs, thresholds)

    def allows(self, outcome: CascadeOutcome) -> bool:
        """True if the bound holds."""
        return outcome.num_wrong <= self.max_error * outcome.num_kept

    def oracle(self) -> CascadeOutcome:
        """The cheapest thresholds with the bound; each round compares more of them around the best of the last."""
        num_tiers = self.scores.shape[1]
        num_levels = MAX_LEVELS[num_tiers]
        ordered = np.sort(self.scores, axis=0)
        ranges = [(0.0, 1.0)] * num_tiers
        best, best_shares = self.outcome((np.inf,) * num_tiers), (1.0,) * num_tiers
        for _ in range(NUM_ROUNDS):
            shares = [np.linspace(low, high, num_levels) for low, high in ranges]
            for chosen in product(*shares):
                outcome = self.outcome(tuple(_quantile(ordered[:, tier], share) for tier, share in enumerate(chosen)))
                if self.allows(outcome) and outcome.cost < best.cost:
                    best, best_shares = outcome, chosen
            steps = [(high - low) / (num_levels - 1) for low, high in ranges]
            ranges = [(max(0.0, at - step), min(1.0, at + step)) for at, step in zip(best_shares, steps, strict=True)]
        return best


def _quantile(ordered: Floats, share: float) -> float:
    """The score below which this share of the answers is; above all scores for a share of 1."""
    place = round(share * len(ordered))
    return float(ordered[place]) if place < len(ordered) else np.inf


@dataclass(frozen=True, slots=True)
class CascadeCalibrations:
    """Numbers of calibrations, and the mean cost of a question by their thresholds."""

    num: int
    num_violated: int
    num_found: int
    cost: float

    @property
    def interval(self) -> tuple[float, float]:
        """The exact 95 % interval of the share of violations."""
        return exact_interval(self.num_violated, self.num)


def calibrate_cascades(
    population: CascadePopulation, num_labels: int, num_calibrations: int, seed: int
) -> CascadeCalibrations:
    """Grant on `num_calibrations` samples of `num_labels` questions each."""
    draw = np.random.default_rng((seed, num_labels))
    num_violated = num_found = 0
    cost = 0.0
    for _ in range(num_calibrations):
        chosen: npt.NDArray[np.int64] = draw.integers(len(population.scores), size=num_labels)
        granted = grant_cascade(
            population.scores[chosen], population.right[chosen], population.costs, population.max_error, CONFIDENCE
        )
        if granted.thresholds is None:
            cost += sum(population.costs)
            continue
        outcome = population.outcome(granted.thresholds)
        num_found += 1
        num_violated += not population.allows(outcome)
        cost += outcome.cost
    return CascadeCalibrations(num_calibrations, num_violated, num_found, cost / num_calibrations)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calibrations", type=int, default=1000, help="per shape, number of tiers and of labels")
    parser.add_argument("--max-error", type=float, default=0.05, help="of the answers that stay")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print(f"{options.calibrations} calibrations each; the costs of the tiers and of the cloud are {COSTS}")
    print(
        f"{'shape':20} {'tiers':>5} {'labels':>6} {'violated':>8} {'95 % interval':>16} {'found':>7} {'cost':>6} "
        f"{'oracle':>6} {'relative':>8}"
    )
    for (name, shape), num_tiers in product(SHAPES.items(), COSTS):
        scores, right = shape(np.random.default_rng(options.seed), POPULATION, num_tiers)
        population = CascadePopulation(scores, right, COSTS[num_tiers], options.max_error)
        oracle = population.oracle().cost
        for num_labels in NUM_LABELS:
            found = calibrate_cascades(population, num_labels, options.calibrations, options.seed)
            low, high = found.interval
            print(
                f"{name:20} {num_tiers:>5} {num_labels:>6} {found.num_violated / found.num:>8.1%} "
                f"{low:>8.1%} {high:>7.1%} {found.num_found / found.num:>7.1%} {found.cost:>6.3f} {oracle:>6.3f} "
                f"{found.cost / oracle:>8.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()

"""Measures how often the bound of `grant` is violated, and the answers that it keeps as a share of an oracle's.

python -m benchmarks.escalation.bound                  five synthetic shapes of scores
python -m benchmarks.escalation.bound --embedded       and the hand-written questions, answered by the embedded model

A calibration draws n labelled answers and asks for at most --max-error wrong answers among those that stay, at a
confidence of 95 %. The bound is violated if the answers of the whole population above the threshold are wrong more
often. The oracle knows the population: it keeps the most answers of which at most --max-error are wrong. `limit` is
what the most powerful test of a single threshold keeps: the sum over all sizes of the probability that the best test of
this or a larger size passes.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from benchmarks.escalation.tiers import PROBE, answered_tiers
from cactus_actors.calibration.granting import allowed_errors, critical_sizes, grant

CONFIDENCE = 0.95
NUM_LABELS = (200, 500, 1000)
POPULATION = 400_000

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Draw = tuple[Floats, Bools]


def two_normals(draw: np.random.Generator, num: int) -> Draw:
    """Scores of right and wrong answers from two normal distributions; AUROC 0.935, 75 % right."""
    right = draw.random(num) < 0.75
    return draw.normal(2.14 * right, 1.0), right


def overconfident(draw: np.random.Generator, num: int) -> Draw:
    """Probabilities near 1, of wrong answers, too; 85 % right."""
    right = draw.random(num) < 0.85
    return np.where(right, draw.beta(8.0, 1.0, num), draw.beta(3.0, 3.0, num)), right


def calibrated(draw: np.random.Generator, num: int) -> Draw:
    """Each score is the probability that its answer is right; 94 % right."""
    scores = draw.beta(15.0, 1.0, num)
    return scores, draw.random(num) < scores


def coarse(draw: np.random.Generator, num: int) -> Draw:
    """The scores of `overconfident` in twentieths, so that many are equal."""
    scores, right = overconfident(draw, num)
    return np.round(scores * 20) / 20, right


def with_mistakes(draw: np.random.Generator, num: int) -> Draw:
    """The scores of `overconfident`, where one in fifty right answers is wrong for another reason."""
    scores, right = overconfident(draw, num)
    return scores, right & (draw.random(num) >= 0.02)


SHAPES: dict[str, Callable[[np.random.Generator, int], Draw]] = {
    "two normals": two_normals,
    "overconfident": overconfident,
    "calibrated": calibrated,
    "coarse": coarse,
    "with mistakes": with_mistakes,
}


class Population:
    """Answers with their errors above each score, and the bound on the share of errors."""

    def __init__(self, scores: Floats, right: Bools, max_error: float = 0.05) -> None:
        self.max_error = max_error
        order = np.argsort(-scores, kind="stable")
        self.scores, self.right = scores, right
        self._falling = -scores[order]
        self._errors = np.cumsum(~right[order]) / np.arange(1, len(scores) + 1)

    def kept(self, threshold: float | None) -> tuple[float, float]:
        """The share of answers with at least this score, and the share of wrong ones among them."""
        if threshold is None:
            return 0.0, 0.0
        num = int(np.searchsorted(self._falling, -threshold, side="right"))
        return num / len(self.scores), float(self._errors[num - 1]) if num else 0.0

    def kept_by_oracle(self) -> float:
        ends = np.append(self._falling[1:] != self._falling[:-1], True)
        allowed = np.flatnonzero(ends & (self._errors <= self.max_error))
        return float(allowed[-1] + 1) / len(self.scores) if len(allowed) else 0.0

    def sample(self, draw: np.random.Generator, num: int) -> Draw:
        chosen = draw.integers(len(self.scores), size=num)
        return self.scores[chosen], self.right[chosen]


@dataclass(frozen=True, slots=True)
class Outcome:
    """Shares of all calibrations; those kept are in units of what the oracle keeps."""

    num_labels: int
    violated: float
    found: float
    kept: float
    limit: float


def calibrate_often(population: Population, num_labels: int, num_calibrations: int, seed: int) -> Outcome:
    """Grant on `num_calibrations` samples of `num_labels` answers each."""
    draw = np.random.default_rng((seed, num_labels))
    num_violated = num_found = 0
    kept = 0.0
    max_error, oracle = population.max_error, population.kept_by_oracle()
    critical = critical_sizes(num_labels, max_error, 1.0 - CONFIDENCE)
    allowed = allowed_errors(critical, np.arange(1, num_labels + 1))
    passed = np.zeros(num_labels)
    for _ in range(num_calibrations):
        scores, right = population.sample(draw, num_labels)
        granted = grant(scores, right, max_error, CONFIDENCE)
        share, errors = population.kept(granted.threshold)
        num_found += granted.threshold is not None
        num_violated += errors > max_error
        kept += share
        passed += np.cumsum(~right[np.argsort(-scores, kind="stable")]) <= allowed
    power = np.maximum.accumulate(passed[::-1])[::-1] / num_calibrations
    return Outcome(
        num_labels,
        num_violated / num_calibrations,
        num_found / num_calibrations,
        kept / num_calibrations / oracle if oracle else 0.0,
        float(power.sum()) / num_labels / oracle if oracle else 0.0,
    )


def embedded() -> dict[str, Draw]:
    """Scores of the embedded model's answers to the hand-written questions, by signal, and whether they are right."""
    (sprout,) = answered_tiers((0.0,), os.cpu_count() or 1)
    return {f"embedded, {name}": (sprout.scores[name], sprout.right) for name in ("answer_prob", PROBE)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calibrations", type=int, default=1000, help="per shape and number of labels")
    parser.add_argument("--max-error", type=float, default=0.05, help="of the answers that stay")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--embedded", action="store_true", help="with the answers of the embedded model")
    options = parser.parse_args()
    draws = {name: shape(np.random.default_rng(options.seed), POPULATION) for name, shape in SHAPES.items()}
    draws |= embedded() if options.embedded else {}
    populations = {name: Population(*one, options.max_error) for name, one in draws.items()}
    most = 1.0 - CONFIDENCE + 2 * (CONFIDENCE * (1.0 - CONFIDENCE) / options.calibrations) ** 0.5
    print(f"{options.calibrations} calibrations each; the bound may be violated in {most:.1%}")
    print(f"{'shape':26} {'labels':>6} {'violated':>8} {'found':>8} {'kept':>6} {'limit':>6}   kept by the oracle")
    for name, population in populations.items():
        for num_labels in NUM_LABELS:
            outcome = calibrate_often(population, num_labels, options.calibrations, options.seed)
            print(
                f"{name:26} {num_labels:>6} {outcome.violated:>8.1%} {outcome.found:>8.1%} {outcome.kept:>6.3f} "
                f"{outcome.limit:>6.3f}   {population.kept_by_oracle():.1%}",
                flush=True,
            )


if __name__ == "__main__":
    main()

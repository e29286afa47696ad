"""Risk, coverage and cost of escalation: tables, and two pictures.

python -m benchmarks.escalation.curves --pictures docs/guide/pictures

All tiers are demonstration models: cactus-sprout, and copies of it with noise on their weights. They answer the
hand-written questions, greedily, in int8; cactus-sprout as a second model, only the answerable ones. The cloud of a
cascade is assumed to be always right: the curves show what the thresholds do, not how good a cloud is. The thresholds
of a cascade are chosen on every second question, and their effect is shown on the others.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.escalation.judged_answers import Bools, Floats
from benchmarks.escalation.tiers import PROBE, SIGNALS, Tier, answered_tiers, errors_after
from cactus_actors.calibration.cascade_granting import combinations, outcome_of
from cactus_actors.calibration.probability_fit import calibration_error, cross_validated_fits
from cactus_actors.calibration.thresholds import area_under_curve
from cactus_actors.protocol.confidence import FittedSignalName

NOISES = (0.0, 0.1, 0.15)
SHARES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
SIGNAL: FittedSignalName = "answer_prob"
"""The default signal, by which tiers are compared."""
COSTS = {"weak": 0.05, "strong": 0.2, "cloud": 1.0}
"""Assumed costs of asking the two tiers of the cascade and its cloud."""


class Curve(NamedTuple):
    """A line of a picture."""

    label: str
    x: Floats
    y: Floats


@dataclass(frozen=True, slots=True)
class Panel:
    """A picture's axes and lines; lines in `references` are drawn in grey."""

    title: str
    x_label: str
    y_label: str
    curves: Sequence[Curve]
    references: Sequence[Curve] = ()


def risk_coverage(label: str, scores: Floats, right: Bools) -> Curve:
    """The share of wrong answers among those that stay, by the share that stays, most confident ones first."""
    order = np.argsort(-scores, kind="stable")
    sizes = np.arange(1, len(order) + 1)
    return Curve(label, sizes / len(order), np.cumsum(~right[order]) / sizes)


def cost_quality(label: str, scores: Floats, right: Bools, second: Bools) -> Curve:
    """The share of right answers of all, by the share of questions that the second model answers."""
    order = np.argsort(scores, kind="stable")
    gained = np.cumsum(second[order].astype(np.int64) - right[order])
    shares = np.arange(len(order) + 1) / len(order)
    return Curve(label, shares, (right.sum() + np.append(0, gained)) / len(order))


def cascade(label: str, tiers: Sequence[Tier], costs: Sequence[float]) -> Curve:
    """The share of right answers of all, by the mean cost: of thresholds that are the best ones of another half."""
    scores = np.stack([tier.scores[SIGNAL] for tier in tiers], axis=1)
    right = np.stack([tier.right for tier in tiers], axis=1)
    design, shown = slice(0, None, 2), slice(1, None, 2)
    num_shown = len(scores[shown])
    found = [outcome_of(scores[design], right[design], costs, each) for each in combinations(scores[design])]
    found.sort(key=lambda outcome: (outcome.cost, outcome.num_wrong))
    best, points = len(scores) + 1, []
    for outcome in found:
        if outcome.num_wrong < best:
            best = outcome.num_wrong
            other = outcome_of(scores[shown], right[shown], costs, outcome.thresholds)
            points.append((other.cost, 1.0 - other.num_wrong / num_shown))
    x, y = np.array(sorted(points)).T
    return Curve(label, x, y)


def panels(tiers: Sequence[Tier]) -> dict[str, tuple[Panel, Panel]]:
    """The panels of each picture, by the name of its file."""
    strong, weak = tiers[0], tiers[-1]
    coverage, share, risk = "share of answers that stay", "share handed off", "wrong answers among those that stay"
    by_signal = [risk_coverage(name, strong.scores[name], strong.right) for name in (*SIGNALS, PROBE)]
    by_tier = [risk_coverage(tier.name, tier.scores[SIGNAL], tier.right) for tier in tiers]
    first, second = weak.answerable(), strong.answerable()
    handed = [cost_quality(name, first.scores[name], first.right, second.right) for name in (*SIGNALS, PROBE)]
    gain = second.right.astype(float) - first.right
    limits = [
        cost_quality("with perfect knowledge", -gain, first.right, second.right),
        Curve("by chance", np.array([0.0, 1.0]), np.array([first.right.mean(), second.right.mean()])),
    ]
    paths = [
        cascade(f"{weak.name}, {strong.name}, cloud", (weak, strong), tuple(COSTS.values())),
        cascade(f"{strong.name}, cloud", (strong,), (COSTS["strong"], COSTS["cloud"])),
        cascade(f"{weak.name}, cloud", (weak,), (COSTS["weak"], COSTS["cloud"])),
    ]
    return {
        "risk-coverage": (
            Panel("cactus-sprout, by signal", coverage, risk, by_signal),
            Panel(f"by model, signal {SIGNAL}", coverage, risk, by_tier),
        ),
        "cost-quality": (
            Panel(f"{weak.name} hands off to {strong.name}, answerable", share, "right of all", handed, limits),
            Panel("cascades, with a cloud that is always right", "mean cost of a question", "right of all", paths),
        ),
    }


def draw(both: tuple[Panel, Panel], path: Path) -> None:
    """Write the panels beside each other as SVG; the same data give the same bytes."""
    import matplotlib  # optional, and slow to import
    from matplotlib.figure import Figure

    with matplotlib.rc_context({"svg.hashsalt": "cactus", "svg.fonttype": "none", "font.size": 9}):
        figure = Figure(figsize=(10, 4), layout="constrained")
        for place, panel in enumerate(both, start=1):
            axes = figure.add_subplot(1, 2, place)
            for curve in panel.curves:
                axes.plot(curve.x, curve.y, label=curve.label, linewidth=1.4)
            for curve, style in zip(panel.references, ("--", ":"), strict=False):
                axes.plot(curve.x, curve.y, style, label=curve.label, color="grey", linewidth=1)
            axes.set(title=panel.title, xlabel=panel.x_label, ylabel=panel.y_label)
            axes.grid(alpha=0.25)
            axes.legend()
        figure.savefig(path, format="svg", metadata={"Date": None})


def print_tables(tiers: Sequence[Tier]) -> None:
    """AUROC and calibration error of each tier, and the accuracy after handing off from the weakest to the first."""
    print(f"{'':16}" + "".join(f"{tier.name:>16}" for tier in tiers))
    print(f"{'right':16}" + "".join(f"{tier.right.mean():>16.1%}" for tier in tiers))
    for name in (*SIGNALS, PROBE):
        areas = [area_under_curve(tier.scores[name].tolist(), tier.right.tolist()) for tier in tiers]
        print(f"{name:16}" + "".join(f"{area or 0.0:>16.3f}" for area in areas))
    print(f"{'ECE':16}" + "".join(f"{_calibration_error(tier):>16.3f}" for tier in tiers))
    errors = [calibration_error(tier.scores[PROBE].tolist(), tier.right.tolist()) for tier in tiers]
    print(f"{'ECE of the probe':16}" + "".join(f"{error:>16.3f}" for error in errors))
    strong, weak = tiers[0].answerable(), tiers[-1].answerable()
    print(f"\nanswerable questions, {weak.name} hands off to {strong.name}: right of those that stay / right of all")
    for share in SHARES:
        cells = []
        for name in (*SIGNALS, PROBE):
            of_those, of_all = errors_after(share, weak.scores[name], weak.right, strong.right)
            cells.append(f"{name} {1.0 - of_those:.1%} / {1.0 - of_all:.1%}")
        print(f"{share:4.0%}  " + "  ".join(cells))


def _calibration_error(tier: Tier) -> float:
    """The ECE of the signal's probability, for each answer of a fit without it."""
    scores, right = tier.scores[SIGNAL].tolist(), tier.right.tolist()
    fits = cross_validated_fits(SIGNAL, scores, right)
    assert fits is not None
    return calibration_error([fit(score) for fit, score in zip(fits, scores, strict=True)], right)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--noises", type=float, nargs="+", default=NOISES, help="weakest last, in standard deviations")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--pictures", type=Path, help="directory of the two SVG files")
    options = parser.parse_args()
    tiers = answered_tiers(options.noises, options.threads)
    print_tables(tiers)
    if options.pictures is not None:
        options.pictures.mkdir(parents=True, exist_ok=True)
        for name, both in panels(tiers).items():
            draw(both, options.pictures / f"{name}.svg")
            print(options.pictures / f"{name}.svg")


if __name__ == "__main__":
    main()

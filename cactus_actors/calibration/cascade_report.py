"""A bound on the errors of a cascade's kept answers, from the judged answers of each of its models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from cactus_actors.calibration.bound_scores import Bound, scores_for_bound
from cactus_actors.calibration.cascade_granting import grant_cascade, smallest_cascade_error
from cactus_actors.calibration.examples import ExampleOutcome
from cactus_actors.calibration.report_table import configuration_lines
from cactus_actors.calibration.thresholds import shortest_threshold
from cactus_actors.protocol.confidence import SignalName


@dataclass(frozen=True, slots=True)
class TierReport:
    """One model of the cascade.

    `accuracy` is that of its answers to all questions, `kept` the share of questions that it answers in the cascade.
    `threshold` is None if it answers none: the cascade is better without it.
    """

    model: str
    accuracy: float
    cost: float
    threshold: float | None
    kept: float


@dataclass(frozen=True, slots=True)
class CascadeReport:
    """Thresholds that were chosen together; without a grant no tier has one.

    `error_bound` is the share of wrong answers that they bound, or without a grant about the smallest possible one.
    `cost` is the mean cost of a question, `handed_off` the share that no model answers and whose cost is
    `handoff_cost`. Of the `num_tested` questions that tested the thresholds, `num_kept` stay, of which `num_wrong` are
    wrong.
    """

    signal: SignalName
    first_gate_tokens: int | None
    tiers: tuple[TierReport, ...]
    is_granted: bool
    error_bound: float
    cost: float
    handed_off: float
    handoff_cost: float
    num_tested: int
    num_kept: int
    num_wrong: int

    @classmethod
    def of(
        cls, models: Sequence[str], answered: Sequence[Sequence[ExampleOutcome]], costs: Sequence[float], bound: Bound
    ) -> CascadeReport:
        """The report for the outcomes of each model, first tier first; the last cost is that of the handoff.

        Raises InvalidRequest as `scores_for_bound` does.
        """
        found = [scores_for_bound(outcomes, bound) for outcomes in answered]
        right = [[outcome.is_right for outcome in outcomes] for outcomes in answered]
        judged = np.array([one.scores for one in found]).T, np.array(right).T, costs
        granted = grant_cascade(*judged, bound.max_error, bound.confidence)
        error_bound = bound.max_error
        if granted.thresholds is None:
            error_bound = smallest_cascade_error(*judged, bound.max_error, bound.confidence)
        thresholds = granted.thresholds or (float("inf"),) * len(models)
        return cls(
            signal=found[0].signal,
            first_gate_tokens=None if (gates := found[0].gates) is None else gates.first_tokens,
            tiers=tuple(
                TierReport(
                    model=model,
                    accuracy=sum(rights) / len(rights),
                    cost=cost,
                    threshold=None if threshold == float("inf") else shortest_threshold(threshold, one.scores),
                    kept=kept,
                )
                for model, rights, cost, threshold, one, kept in zip(
                    models, right, costs[:-1], thresholds, found, granted.kept, strict=True
                )
            ),
            is_granted=granted.thresholds is not None,
            error_bound=error_bound,
            cost=granted.cost,
            handed_off=1.0 - sum(granted.kept),
            handoff_cost=costs[-1],
            num_tested=granted.num_tested,
            num_kept=granted.num_kept,
            num_wrong=granted.num_wrong,
        )

    def to_builtins(self) -> dict[str, Any]:
        """The report for JSON."""
        report: dict[str, Any] = msgspec.to_builtins(self)
        return report


def cascade_lines(report: CascadeReport, bound: Bound) -> Iterator[str]:
    """The report as text."""
    width = max(len("handed off"), *(len(tier.model) for tier in report.tiers))
    header = f"{'model':{width}} {'right':>7} {'cost':>8} {'threshold':>10} {'answers':>8}"
    if not report.is_granted:
        yield f"No thresholds have a bound of {bound.max_error:.1%} at {bound.confidence:.1%} confidence:"
        yield "everything must be handed off. Give more questions, or a larger --max-error:"
        yield f"the smallest bound of these answers is {report.error_bound:.1%}."
        yield header
        for tier in report.tiers:
            yield f"{tier.model:{width}} {tier.accuracy:>7.1%} {tier.cost:>8g} {'none':>10} {0:>8.1%}"
        return
    yield f"With {bound.confidence:.1%} confidence, at most {bound.max_error:.1%} of the answers that stay are wrong,"
    yield f"if a question goes on to the next model where {report.signal} is below the threshold:"
    yield header
    for tier in report.tiers:
        threshold = "none" if tier.threshold is None else f"{tier.threshold:.6g}"
        yield f"{tier.model:{width}} {tier.accuracy:>7.1%} {tier.cost:>8g} {threshold:>10} {tier.kept:>8.1%}"
    yield f"{'handed off':{width}} {'':>7} {report.handoff_cost:>8g} {'':>10} {report.handed_off:>8.1%}"
    yield f"Mean cost of a question: {report.cost:.3g}. Wrong: {report.num_wrong} of {report.num_kept} that stay of"
    yield f"{report.num_tested} questions; the others chose which thresholds to test."
    if any(tier.threshold is None for tier in report.tiers):
        yield "A model without a threshold answers nothing: leave it out."
    elif not all(tier.kept for tier in report.tiers):
        yield "A model that answers nothing costs and gains nothing: calibrate without it."
    yield "In cactus.toml:"
    if report.first_gate_tokens is not None:
        yield from configuration_lines(report.signal, report.first_gate_tokens)
    yield "  [cascade]"
    yield "  tiers = ["
    for tier in report.tiers:
        if tier.threshold is not None:
            yield f'    {{ model = "{tier.model}", threshold = {tier.threshold!r} }},'
    yield '    { model = "cloud" },'
    yield "  ]"

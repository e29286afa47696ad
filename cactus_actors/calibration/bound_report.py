"""Bounds on the errors of kept answers, from judged answers: for all together, and for each group."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from cactus_actors.calibration.bound_scores import Bound, scores_for_bound
from cactus_actors.calibration.examples import ExampleOutcome
from cactus_actors.calibration.granting import Grant, grant, grant_by_group
from cactus_actors.calibration.report_table import configuration_lines
from cactus_actors.calibration.signal_scores import gate_inputs_of, signals_of
from cactus_actors.calibration.thresholds import shortest_threshold
from cactus_actors.protocol.confidence import SignalName
from cactus_actors.protocol.handoff_gates import HandoffGates

_EXPLANATION = (
    "At least: the share that even a signal without mistakes hands off. Without a",
    "threshold everything must be handed off. The bound holds for questions like",
    "these, drawn independently, and for this model, its weights and this signal.",
)


@dataclass(frozen=True, slots=True)
class BoundReport:
    """The grants of one signal: for all answers, or for each group if examples name groups.

    `first_gate_tokens` and the mean number of tokens before a handoff are None if the service did not report what its
    gates saw; the latter also if nothing is handed off. `accuracy_of_all` is the share of right answers if a second
    service answers what is handed off, None without one.
    """

    signal: SignalName
    first_gate_tokens: int | None
    tokens_before_handoff: float | None
    num_answers: int
    num_failed: int
    accuracy: float
    accuracy_of_all: float | None
    grants: dict[str, Grant]
    """By group; without groups the only key is ''."""

    @classmethod
    def of(
        cls, outcomes: Sequence[ExampleOutcome], bound: Bound, second: Sequence[ExampleOutcome] | None = None
    ) -> BoundReport:
        """The grants for these outcomes; `second` are those of a better service.

        An example without an answer is one that the service hands off: its score is NaN. Raises InvalidRequest if no
        example was answered, or if the service does not have the signal.
        """
        signal, gates, scores = scores_for_bound(outcomes, bound)
        num_answers = sum(outcome.result is not None for outcome in outcomes)
        right = [outcome.is_right for outcome in outcomes]
        groups = [outcome.example.group for outcome in outcomes]
        if any(group is not None for group in groups):
            named = [group or "" for group in groups]
            by_group = grant_by_group(scores, right, named, bound.max_error, bound.confidence)
            found = {str(group): by_group[group] for group in sorted(by_group, key=str)}
        else:
            found = {"": grant(scores, right, bound.max_error, bound.confidence)}
        found = {
            group: _readable(one, [score for score, own in zip(scores, groups, strict=True) if (own or "") == group])
            for group, one in found.items()
        }
        tokens = [
            count
            for outcome in outcomes
            if (one := found[(outcome.example.group or "")]).threshold is not None
            and (count := _tokens_before_handoff(outcome, signal, gates, one.threshold)) is not None
        ]
        return cls(
            signal,
            None if gates is None else gates.first_tokens,
            sum(tokens) / len(tokens) if tokens else None,
            num_answers,
            len(outcomes) - num_answers,
            sum(right) / len(right),
            None if second is None else _accuracy_of_all(outcomes, second, scores, found),
            found,
        )

    def to_builtins(self) -> dict[str, Any]:
        """The report for JSON."""
        report: dict[str, Any] = msgspec.to_builtins(self)
        return report


def bound_lines(report: BoundReport, bound: Bound) -> Iterator[str]:
    """The report as text; lines of 80 columns at most unless a group's name is long."""
    statement = f"at most {bound.max_error:.1%} of the answers that stay are wrong"
    yield f"With {bound.confidence:.1%} confidence, {statement},"
    yield f"if those whose {report.signal} is below the threshold are handed off:"
    names = {group: group or ("all" if len(report.grants) == 1 else "no group") for group in report.grants}
    width = max(len("group"), *map(len, names.values()))
    yield f"{'group':{width}} {'threshold':>10} {'stay':>14} {'wrong':>6} {'handed off':>11} {'at least':>9}"
    for group, granted in report.grants.items():
        yield f"{names[group]:{width}} {_row(granted)}"
        if granted.threshold is None:
            yield f"{'':{width}} {_advice(granted)}"
    if report.accuracy_of_all is not None:
        yield f"If the second service answers the others, {report.accuracy_of_all:.1%} of all answers are right."
    yield from _EXPLANATION
    if report.first_gate_tokens is not None and any(one.threshold is not None for one in report.grants.values()):
        yield "Tokens computed before a handoff: " + (
            "-" if report.tokens_before_handoff is None else f"{report.tokens_before_handoff:.1f} on average"
        )
        yield "In cactus.toml, with the thresholds as cloud_handoff_threshold of requests:"
        yield from configuration_lines(report.signal, report.first_gate_tokens)


def _row(granted: Grant) -> str:
    threshold = "none" if granted.threshold is None else f"{granted.threshold:.6g}"
    stay = f"{granted.num_kept} of {granted.num_labels}"
    return (
        f"{threshold:>10} {stay:>14} {granted.num_wrong:>6} "
        f"{1.0 - granted.kept:>11.1%} {granted.least_handed_off:>9.1%}"
    )


def _advice(refused: Grant) -> str:
    more = refused.labels_needed
    needed = "more questions would not be enough" if more is None else f"more questions are needed, about {more}"
    return f"smallest bound: {refused.error_bound:.1%}; {needed}"


def _accuracy_of_all(
    outcomes: Sequence[ExampleOutcome],
    second: Sequence[ExampleOutcome],
    scores: Sequence[float],
    grants: dict[str, Grant],
) -> float:
    num_right = 0
    for own, other, score in zip(outcomes, second, scores, strict=True):
        threshold = grants[own.example.group or ""].threshold
        num_right += own.is_right if threshold is not None and score >= threshold else other.is_right
    return num_right / len(outcomes)


def _tokens_before_handoff(
    outcome: ExampleOutcome, signal: SignalName, gates: HandoffGates | None, threshold: float
) -> int | None:
    inputs = None if outcome.result is None else gate_inputs_of(outcome.result)
    if inputs is None or gates is None:
        return None
    return gates.tokens_before_handoff(signals_of(inputs.fits)[signal], inputs, threshold, inputs.prompt)


def _readable(granted: Grant, scores: Sequence[float]) -> Grant:
    """The grant with a threshold of few digits."""
    if granted.threshold is None:
        return granted
    return dataclasses.replace(granted, threshold=shortest_threshold(granted.threshold, scores))

"""The answers of a calibration as a file, for people who look at them on the service's page."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from cactus_actors.batch.batch_errors import naming_file
from cactus_actors.calibration.bound_report import BoundReport
from cactus_actors.calibration.bound_scores import Bound, scores_for_bound
from cactus_actors.calibration.examples import Example, ExampleOutcome
from cactus_actors.calibration.report import Calibration
from cactus_actors.calibration.signal_scores import SIGNALS, scores_of
from cactus_actors.calibration.thresholds import ThresholdTarget
from cactus_actors.protocol.confidence import SignalName
from cactus_actors.protocol.errors import ConfigurationInvalid


class SignalThreshold(msgspec.Struct, frozen=True, kw_only=True):
    """A threshold that was found for a signal, of one `group` where there are several."""

    signal: SignalName
    threshold: float
    group: str = ""


class AnswersHead(msgspec.Struct, frozen=True, kw_only=True):
    """The first line: the target, and the thresholds that reach it.

    One of `precision`, `cloud_share` and `max_error`; this one is a bound, at a `confidence`, for one `signal`.
    """

    model: str
    thresholds: list[SignalThreshold]
    type: Literal["calibration"] = "calibration"
    signal: SignalName | None = None
    precision: float | None = None
    cloud_share: float | None = None
    max_error: float | None = None
    confidence: float | None = None


class JudgedAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The lines after it: a question, its answer, and the score by each signal: the lowest one at the gates."""

    question: str
    answer: str
    expected: str
    is_right: bool
    scores: dict[SignalName, float]
    group: str = ""
    type: Literal["answer"] = "answer"


def head_of(
    calibration: Calibration, outcomes: Sequence[ExampleOutcome], target: ThresholdTarget, report: BoundReport | None
) -> AnswersHead:
    """The first line, for a target or for the bound of a report."""
    model = next((outcome.result.model for outcome in outcomes if outcome.result is not None), "")
    if report is not None:
        granted = [(group, one) for group, one in report.grants.items() if one.threshold is not None]
        any_grant = next(iter(report.grants.values()))
        return AnswersHead(
            model=model,
            thresholds=[
                SignalThreshold(signal=report.signal, threshold=one.threshold or 0.0, group=group)
                for group, one in granted
            ],
            signal=report.signal,
            max_error=any_grant.max_error,
            confidence=any_grant.confidence,
        )
    return AnswersHead(
        model=model,
        thresholds=[
            SignalThreshold(signal=name, threshold=signal.cut.threshold)
            for signal in calibration.signals
            for name in SIGNALS
            if name == signal.name and signal.cut is not None
        ],
        precision=target.precision if target.share is None else None,
        cloud_share=target.share,
    )


def write_answers(path: Path, head: AnswersHead, outcomes: Sequence[ExampleOutcome], bound: Bound | None) -> None:
    """Write the answers as lines of JSON, without examples that failed; raises ConfigurationInvalid if it cannot."""
    lines = [msgspec.json.encode(line) for line in (head, *_rows(outcomes, bound))]
    with naming_file(path, ConfigurationInvalid):
        path.write_bytes(b"\n".join(lines) + b"\n")


def _rows(outcomes: Sequence[ExampleOutcome], bound: Bound | None) -> Iterator[JudgedAnswer]:
    signal, gates, bounded = (None, None, None) if bound is None else scores_for_bound(outcomes, bound)
    for place, outcome in enumerate(outcomes):
        if outcome.result is None or outcome.result.measures is None:
            continue
        found = scores_of(outcome.result, gates)
        scores = {name: found[name] for name in SIGNALS if name in found}
        if signal is not None and bounded is not None:
            scores[signal] = bounded[place]
        yield JudgedAnswer(
            question=_question(outcome.example),
            answer=outcome.result.text,
            expected=_expected(outcome.example),
            is_right=outcome.is_right,
            scores={name: score for name, score in scores.items() if math.isfinite(score)},
            group=outcome.example.group or "",
        )


def _question(example: Example) -> str:
    if example.messages:
        last = example.messages[-1].content
        return last if isinstance(last, str) else "".join(part.text or "" for part in last or [])
    return example.question or example.prompt or ""


def _expected(example: Example) -> str:
    """What was right, in the words of the line."""
    contains = [example.contains] if isinstance(example.contains, str) else example.contains or []
    parts = [*([] if example.answer is None else [example.answer]), *contains]
    if example.regex is not None:
        parts.append(f"/{example.regex}/")
    parts += [call.name for call in example.calls or []]
    return ", ".join(parts)

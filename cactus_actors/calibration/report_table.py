"""A calibration as lines of text."""

from __future__ import annotations

from collections.abc import Iterator

from cactus_actors.calibration.interval import CONFIDENCE
from cactus_actors.calibration.report import Calibration, SignalReport, ThresholdTarget
from cactus_actors.calibration.thresholds import Cut

WARNING = (
    "Estimates from these answers, by which the thresholds were chosen, too: of other questions what stays",
    "may be right less often. The interval is exact for a threshold that was chosen without these answers.",
)


def report_lines(calibration: Calibration, target: ThresholdTarget) -> Iterator[str]:
    """A head, a line for each signal, and what the figures are."""
    interval = f"{CONFIDENCE:.0%} interval"
    yield (
        f"{'signal':16} {'AUROC':>6} {'threshold':>10} {'handed off':>11} {'estimate':>9} {interval:>16} "
        f"{'right of kept':>14} {'all right':>10}"
    ).rstrip()
    for signal in calibration.signals:
        yield _line(signal, target)
    if calibration.accuracy in (0.0, 1.0):
        kind = "right" if calibration.accuracy else "wrong"
        yield f"There is no AUROC: all answers are {kind}, so nothing tells right from wrong."
    yield from WARNING


def _line(signal: SignalReport, target: ThresholdTarget) -> str:
    auroc = "-" if signal.auroc is None else f"{signal.auroc:.3f}"
    line = f"{signal.name:16} {auroc:>6}"
    if signal.cut is not None:
        line += f" {signal.cut.threshold:>10.6g} {signal.cut.handed_off:>11.1%} {_estimate(signal.cut)}"
        if signal.accuracy_of_all is not None:
            line += f" {signal.accuracy_of_all:>10.1%}"
        return line
    if signal.surest is None:
        return f"{line}  a measure, which no threshold of a service is compared with"
    surest = signal.surest
    return (
        f"{line}  no threshold reaches {target.precision or 1.0:.1%}: at best {surest.num_right} of the surest "
        f"{surest.num_kept} answers are right ({surest.accuracy:.1%})"
    )


def _estimate(cut: Cut) -> str:
    low, high = cut.interval
    return f"{cut.accuracy:>9.1%} {f'{low:.1%} to {high:.1%}':>16} {f'{cut.num_right} of {cut.num_kept}':>14}"

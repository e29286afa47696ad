"""A calibration report as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cactus_actors.calibration.fitting import MIN_EACH
from cactus_actors.calibration.gate_replay import FirstGate
from cactus_actors.calibration.report import NEW_PROBABILITY, NEW_PROBE, NEW_PROMPT, Calibration, SignalReport
from cactus_actors.calibration.thresholds import CONFIDENCE, Cut, ThresholdTarget

WARNING = (
    "Estimates from these answers, by which the thresholds were chosen, too: of other",
    "questions what stays may be right less often. The interval is exact for a",
    "threshold that was chosen without these answers.",
)
_HEAD = (
    f"{'signal':15} {'AUROC':>5} {'threshold':>9} {'handed':>6} {'estimate':>8} {CONFIDENCE:>12.0%} {'right':>12}",
    f"{'':15} {'':5} {'':9} {'off':>6} {'':8} {'interval':>12} {'of kept':>12}",
)


def report_lines(calibration: Calibration, target: ThresholdTarget) -> Iterator[str]:
    """A head, a line for each signal, and an explanation; lines of 80 columns at most."""
    has_second = calibration.second_accuracy is not None
    for line, of_all in zip(_HEAD, ("all", "right"), strict=True):
        yield f"{line} {of_all:>6}" if has_second else line
    for signal in calibration.signals:
        yield _line(signal, target)
    if missing := _missing_rows(calibration):
        yield f"There is no row {', '.join(missing)}: it needs {MIN_EACH} right and"
        yield f"{MIN_EACH} wrong answers without the part that is judged."
    if calibration.accuracy in (0.0, 1.0):
        kind = "right" if calibration.accuracy else "wrong"
        yield f"There is no AUROC: all answers are {kind}, so nothing tells right from wrong."
    errors = [f"{signal.name} {signal.ece:.3f}" for signal in calibration.signals if signal.ece is not None]
    if errors:
        yield "Expected calibration error (ECE) of the probabilities:"
        yield f"  {', '.join(errors)}"
    yield from WARNING
    if any(signal.gates for signal in calibration.signals):
        yield from _gate_lines(calibration.signals)
    if calibration.configuration is not None:
        found = calibration.configuration
        yield f"In cactus.toml, with cloud_handoff_threshold {found.cloud_handoff_threshold:.6g} in requests:"
        yield from configuration_lines(found.confidence_signal, found.first_gate_tokens)
        if found.prompt_threshold is not None:
            yield "Or before the answer, with the new probe of prompts as prompt_probe_file:"
            yield '  gate = "prompt"'
            yield f"  prompt_threshold = {found.prompt_threshold:.6g}"


def _missing_rows(calibration: Calibration) -> list[str]:
    """The rows of fits that could not be judged by answers without which they were fitted."""
    fits = {
        NEW_PROBE: calibration.probe,
        NEW_PROBABILITY: calibration.probability,
        NEW_PROMPT: calibration.prompt_probe,
    }
    rows = {signal.name for signal in calibration.signals}
    return [name for name, fit in fits.items() if fit is not None and name not in rows]


def configuration_lines(signal: str, first_gate_tokens: int) -> Iterator[str]:
    """The settings for the file of `cactus serve`."""
    yield "  [handoff]"
    yield f'  confidence_signal = "{signal}"'
    yield f"  first_gate_tokens = {first_gate_tokens}"


def _gate_lines(signals: Sequence[SignalReport]) -> Iterator[str]:
    """Lines of the signals that reach the target: with the first gate of the service, and with a better one."""
    yield "Replayed token by token; a second line has the best first gate, if it is better:"
    yield f"{'signal':15} {'first gate':>10} {'threshold':>9} {'handed off':>10} {'estimate':>8} {'tokens before':>13}"
    for signal in signals:
        better = [] if signal.best_gate in signal.gates[:1] else [signal.best_gate]
        for gate in (*signal.gates[:1], *better):
            if gate is not None and gate.cut is not None:
                yield f"{signal.name:15} {_gate_line(gate, gate.cut)}"


def _gate_line(gate: FirstGate, cut: Cut) -> str:
    tokens = "-" if gate.tokens_before_handoff is None else f"{gate.tokens_before_handoff:.1f}"
    effect = f"{cut.threshold:>9.6g} {cut.handed_off:>10.1%} {cut.accuracy:>8.1%} {tokens:>13}"
    return f"{gate.num_tokens or 'end':>10} {effect}"


def _line(signal: SignalReport, target: ThresholdTarget) -> str:
    auroc = "-" if signal.auroc is None else f"{signal.auroc:.3f}"
    line = f"{signal.name:15} {auroc:>5}"
    if signal.cut is not None:
        line += f" {signal.cut.threshold:>9.6g} {signal.cut.handed_off:>6.1%} {_estimate(signal.cut)}"
        if signal.accuracy_of_all is not None:
            line += f" {signal.accuracy_of_all:>6.1%}"
        return line
    if signal.surest is None:
        return f"{line}  a measure; no threshold of a service is compared with it"
    surest = signal.surest
    return (
        f"{line}  nothing reaches {target.precision or 1.0:.1%}: at best {surest.num_right} of {surest.num_kept} "
        f"right ({surest.accuracy:.1%})"
    )


def _estimate(cut: Cut) -> str:
    low, high = cut.interval
    return f"{cut.accuracy:>8.1%} {f'{low * 100:.1f}-{high:.1%}':>12} {f'{cut.num_right} of {cut.num_kept}':>12}"

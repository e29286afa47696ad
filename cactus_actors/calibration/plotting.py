"""A plot of accuracy against the share of answers handed off."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from cactus_actors.batch.batch_errors import naming_file
from cactus_actors.calibration.report import NEW_PROBE, NEW_PROMPT, Calibration
from cactus_actors.calibration.signal_scores import PROMPT, SIGNALS
from cactus_actors.protocol.errors import ConfigurationInvalid

SHOWN = (*SIGNALS, NEW_PROBE, PROMPT, NEW_PROMPT)


def check_plotting() -> None:
    """Raise ConfigurationInvalid if matplotlib, of the extra `plots`, is not installed."""
    if find_spec("matplotlib") is None:
        raise ConfigurationInvalid("plots need matplotlib: pip install 'cactus-actors[plots]'")


def write_plot(calibration: Calibration, path: Path) -> None:
    """Write a PNG with one line per signal; raises ConfigurationInvalid if it cannot be written."""
    from matplotlib.figure import Figure  # optional, and slow to import

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.add_subplot()
    for number, signal in enumerate(signal for signal in calibration.signals if signal.name in SHOWN):
        colour = f"C{number}"
        shares = [point.handed_off for point in signal.curve]
        label = signal.name if signal.auroc is None else f"{signal.name} (AUROC {signal.auroc:.3f})"
        axes.plot(shares, [point.accuracy_of_rest for point in signal.curve], color=colour, label=label)
        if calibration.second_accuracy is not None:
            everything = [point.accuracy_of_all or 0.0 for point in signal.curve]
            axes.plot(shares, everything, color=colour, linestyle="--")
        if signal.cut is not None:
            axes.plot([signal.cut.handed_off], [signal.cut.accuracy], "o", color=colour)
    axes.set_xlabel("share handed off")
    axes.set_xlim(0, 1)
    if calibration.second_accuracy is None:
        axes.set_ylabel("accuracy of the answers that stay, in this sample")
    else:
        axes.axhline(calibration.second_accuracy, color="grey", linewidth=0.8, label="second service alone")
        axes.set_ylabel("accuracy: of what stays —, of everything - -")
    axes.legend()
    with naming_file(path, ConfigurationInvalid):
        figure.savefig(path, format="png", dpi=150)

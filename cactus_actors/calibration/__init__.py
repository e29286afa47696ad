"""Measures how well confidence predicts correct answers, and chooses a handoff threshold."""

from __future__ import annotations

from cactus_actors.calibration.example_runner import ExampleOutcome, run_examples
from cactus_actors.calibration.examples import Example, read_examples
from cactus_actors.calibration.fitting import cross_validated, fitted_probe
from cactus_actors.calibration.interval import CONFIDENCE, exact_interval
from cactus_actors.calibration.report import Calibration, ThresholdTarget
from cactus_actors.calibration.thresholds import Cut, area_under_curve, cut_for_precision, cut_for_share

__all__ = [
    "CONFIDENCE",
    "Calibration",
    "Cut",
    "Example",
    "ExampleOutcome",
    "ThresholdTarget",
    "area_under_curve",
    "cross_validated",
    "cut_for_precision",
    "cut_for_share",
    "exact_interval",
    "fitted_probe",
    "read_examples",
    "run_examples",
]

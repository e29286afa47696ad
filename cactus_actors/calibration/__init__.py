"""Measures how well confidence predicts correct answers, and chooses a handoff threshold."""

from cactus_actors.calibration.cascade_granting import CascadeGrant, grant_cascade
from cactus_actors.calibration.drift_monitor import DriftMonitor
from cactus_actors.calibration.examples import Example, ExampleOutcome, read_examples, run_examples
from cactus_actors.calibration.granting import Grant, grant, grant_by_group
from cactus_actors.calibration.report import Calibration
from cactus_actors.calibration.thresholds import ThresholdTarget

__all__ = [
    "Calibration",
    "CascadeGrant",
    "DriftMonitor",
    "Example",
    "ExampleOutcome",
    "Grant",
    "ThresholdTarget",
    "grant",
    "grant_by_group",
    "grant_cascade",
    "read_examples",
    "run_examples",
]

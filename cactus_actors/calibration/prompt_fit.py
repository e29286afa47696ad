"""Fits the probe of prompts to the hidden states of judged questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cactus_actors.calibration.fitting import MIN_EACH, Floats, cross_validated, logistic_regression
from cactus_actors.protocol.prompt_probe import PromptProbe

MAX_COMPONENTS = 64
"""Principal components of the states that a probe sees: with some hundred questions, more would be learnt by heart."""
RIDGES = (10.0, 100.0)
"""The ridge penalties from which the fit chooses."""
NUM_FOLDS = 3
NUM_STEPS = 8

States = Mapping[int, bytes]
"""The hidden states of one prompt by number of layers, float32."""


@dataclass(frozen=True, slots=True)
class PromptFit:
    """Fits probes of a model with this fingerprint; `has_second` if the labels are those of two models."""

    fingerprint: str
    has_second: bool

    def probe(self, states: Sequence[States], unneeded: Sequence[bool]) -> PromptProbe | None:
        """The probe of `unneeded` prompts, those that no second model would improve.

        The layer and the ridge penalty are those of the highest likelihood in answers without which it was fitted.
        None with fewer than MIN_EACH prompts of either kind, or without states.
        """
        layers = set.intersection(*map(set, states)) if states else set()
        if min(sum(unneeded), len(unneeded) - sum(unneeded)) < MIN_EACH or not layers:
            return None
        target = np.asarray(unneeded, np.float64)
        spaces = {layer: _Space.of([each[layer] for each in states]) for layer in sorted(layers)}
        candidates = [(layer, ridge) for layer in spaces for ridge in RIDGES]
        layer, ridge = max(candidates, key=lambda one: _likelihood(spaces[one[0]].rows, target, one[1]))
        bias, weights = spaces[layer].weights(*logistic_regression(spaces[layer].rows, target, ridge, NUM_STEPS))
        return PromptProbe(
            fingerprint=self.fingerprint,
            layer=layer,
            has_second=self.has_second,
            bias=bias,
            weights=weights.tolist(),
        )

    def cross_validated(self, states: Sequence[States], unneeded: Sequence[bool]) -> list[float] | None:
        """The value of each prompt by a probe that was fitted without it; None if there are too few."""
        probes = cross_validated(self.probe, states, unneeded)
        return None if probes is None else [probe(own[probe.layer]) for probe, own in zip(probes, states, strict=True)]


@dataclass(frozen=True, slots=True)
class _Space:
    """States in the directions in which they vary most."""

    rows: Floats  # (prompts, components)
    directions: Floats  # (components, hidden)
    mean: Floats  # (hidden,)
    spread: Floats

    @classmethod
    def of(cls, states: Sequence[bytes]) -> _Space:
        raw = np.stack([np.frombuffer(state, "<f4") for state in states]).astype(np.float64)
        mean, spread = raw.mean(0), raw.std(0) + 1e-9
        standard = (raw - mean) / spread
        directions = np.linalg.svd(standard, full_matrices=False)[2][:MAX_COMPONENTS]
        return cls(standard @ directions.T, directions, mean, spread)

    def weights(self, bias: float, weights: Floats) -> tuple[float, Floats]:
        """Bias and weights for the states themselves, from those for the rows."""
        slopes: Floats = weights @ self.directions / self.spread
        return bias - float(slopes @ self.mean), slopes


def _likelihood(rows: Floats, target: Floats, ridge: float) -> float:
    """The mean logarithm of the chance of each label, by fits without it."""
    folds = np.arange(len(target)) % NUM_FOLDS
    total = 0.0
    for fold in range(NUM_FOLDS):
        kept = folds != fold
        bias, weights = logistic_regression(rows[kept], target[kept], ridge, NUM_STEPS)
        scores = bias + rows[~kept] @ weights
        total -= float(np.logaddexp(0.0, np.where(target[~kept] > 0.5, -scores, scores)).sum())
    return total / len(target)

"""Counter-based random numbers, so that a token does not depend on earlier draws."""

from __future__ import annotations

import numpy as np

from cactus_actors.workers.kernels.internal import internal
from cactus_actors.workers.kernels.softmax import Scalar


@internal()
def _mixed(z: Scalar) -> Scalar:
    """The output function of SplitMix64 (Steele, Lea, Flood 2014)."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@internal()
def uniform(seed: Scalar, choice: Scalar, position: Scalar) -> Scalar:
    """A number in [0, 1) that depends on nothing but its three counters, each an unsigned 64-bit integer."""
    golden = np.uint64(0x9E3779B97F4A7C15)
    state = _mixed(np.uint64(seed) + golden)
    state = _mixed(state + golden * (np.uint64(choice) + np.uint64(1)))
    state = _mixed(state + golden * (np.uint64(position) + np.uint64(1)))
    return np.float64(state >> np.uint64(11)) * 2.0**-53

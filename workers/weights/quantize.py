"""Symmetric quantisation of weights in groups along their inputs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

GROUP_SIZE = 64
SMALLEST_GROUP = np.float32(1e-36)
"""A group with no larger value counts as zero: the reciprocal of a denormal number overflows."""


def quantize_int8(weights: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Integers in -127..127 and a scale for each group of 64 inputs; weight = integer * scale.

    `weights` is (outputs, inputs). Returns (outputs, padded inputs), zeros behind, and (outputs, groups).
    """
    num_outputs, num_inputs = weights.shape
    num_groups = -(-num_inputs // GROUP_SIZE)
    groups = np.zeros((num_outputs, num_groups * GROUP_SIZE), dtype=np.float32)
    groups[:, :num_inputs] = weights
    groups = groups.reshape(num_outputs, num_groups, GROUP_SIZE)
    largest = np.maximum(groups.max(axis=2), -groups.min(axis=2))  # (outputs, groups)
    largest[largest < SMALLEST_GROUP] = 0
    scales = largest / np.float32(127)
    inverse = np.divide(np.float32(127), largest, out=np.zeros_like(largest), where=largest > 0)
    np.multiply(groups, inverse[..., None], out=groups)
    return np.rint(groups, out=groups).astype(np.int8).reshape(num_outputs, -1), scales

"""The cut of top_p (nucleus sampling), without sorting."""

from __future__ import annotations

from typing import Any

import numpy as np

from cactus_actors.workers.kernels.heap import heapify, pop
from cactus_actors.workers.kernels.internal import internal
from cactus_actors.workers.kernels.logit_chunks import CHUNK
from cactus_actors.workers.kernels.softmax import Ids, Logits, Scalar, mass_from

MAX_SORTED = 128


@internal()
def cut_of(weights: Logits, total: Scalar, top_p: Scalar, candidates: Ids) -> Any:
    """(weight, id) of the last one kept, in the order of descending weight and ascending id; at least one is kept.

    No weight is above 1, `total` is the sum of all. Bisection over the bit patterns of weights, which are in
    the order of the weights, narrows the cut down to MAX_SORTED ids or to one weight. `candidates` is room
    for MAX_SORTED.
    """
    target = top_p * total
    # The ids less probable than (1 - top_p) / V have less than 1 - top_p together: never reached.
    low = bits_of(0.999 * max(1.0 - top_p, 1e-12) * total / weights.size)
    high = bits_of(1.0) + 1
    if mass_from(weights, weight_of(low), candidates) < target:  # by rounding
        return np.float32(0.0), weights.size
    mass_above, num_above, num_from_low = 0.0, 0, candidates[0]
    while high - low > 1 and num_from_low - num_above > MAX_SORTED:
        middle = (low + high) // 2
        mass = mass_from(weights, weight_of(middle), candidates)
        num_from_middle = candidates[0]
        if mass < target:
            high, mass_above, num_above = middle, mass, num_from_middle
        else:
            low, num_from_low = middle, num_from_middle
    missing = target - mass_above
    if num_from_low - num_above > MAX_SORTED:
        return _last_of_equals(weights, weight_of(low), missing)
    return _last_between(weights, weight_of(low), weight_of(high), missing, candidates)


@internal()
def bits_of(weight: Scalar) -> Scalar:
    """The bit pattern of a float32 that is not negative: larger numbers have larger ones."""
    return np.int64(np.float32(weight).view(np.int32))


@internal()
def weight_of(bits: Scalar) -> Scalar:
    """The float32 of a bit pattern."""
    return np.int32(bits).view(np.float32)


@internal()
def _last_of_equals(weights: Logits, weight: Scalar, missing: Scalar) -> Any:
    """The id of this weight at which ids, lowest first, reach the missing mass."""
    last = 0
    for i in range(weights.size):
        if weights[i] == weight:
            last = i
            missing -= weight
            if missing <= 0:
                break
    return weight, last


@internal()
def _last_between(weights: Logits, low: Scalar, high: Scalar, missing: Scalar, candidates: Ids) -> Any:
    """The id at which those with low <= weight < high, most probable first, reach the missing mass."""
    size = 0
    for start in range(0, weights.size, CHUNK):
        chunk = weights[start : start + CHUNK]
        num_here: Scalar = 0
        for i in range(chunk.size):
            num_here += np.int32((chunk[i] >= low) & (chunk[i] < high))
        if num_here:
            for i in range(chunk.size):
                if low <= chunk[i] < high:
                    candidates[size] = start + i
                    size += 1
    heapify(weights, candidates, size)
    last = candidates[0]
    while size > 0:
        last = pop(weights, candidates, size)
        size -= 1
        missing -= weights[last]
        if missing <= 0:
            break
    return weights[last], last

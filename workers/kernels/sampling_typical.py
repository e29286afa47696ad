"""Locally typical sampling: the fewest ids whose surprise is nearest to the entropy (Meister et al. 2022).

A surprise is -ln p, so its distance from the entropy is that of a logit from the mean of the logits under
their own probabilities: the centre. Ids are kept by ascending distance, on ties by descending logit and ascending id,
until their probabilities exceed typical_p.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cactus_actors.workers.kernels.internal import internal
from cactus_actors.workers.kernels.logit_chunks import CHUNK, PART
from cactus_actors.workers.kernels.nucleus import MAX_SORTED, bits_of, weight_of
from cactus_actors.workers.kernels.ordered_sums import sum_weighted_distances, sum_weights_within
from cactus_actors.workers.kernels.simd import broadcast
from cactus_actors.workers.kernels.softmax import Ids, Logits, Reals, Scalar, fill_masses

_RADIUS_OF_ALL = np.float32(90.0)  # a logit further than ln(2^126) below the largest has no weight


@internal()
def keep_typical_ranks(
    values: Logits, typical_p: Scalar, kept: Ids, weights: Reals, num_kept: Scalar, order: Ids
) -> Scalar:
    """Keep the typical ids among the first `num_kept`, with their weights, at the front; returns their number.

    The first weight is 1; `order` has room for `num_kept` places.
    """
    total = 0.0
    below = 0.0
    for place in range(num_kept):
        total += weights[place]
        below += weights[place] * max(np.float64(values[kept[place]]) - values[kept[0]], -1e3)
        order[place] = place
    centre = values[kept[0]] + below / total
    for end in range(1, num_kept):
        place, at = order[end], end
        distance = abs(values[kept[place]] - centre)
        while at > 0 and abs(values[kept[order[at - 1]]] - centre) > distance:
            order[at] = order[at - 1]
            at -= 1
        order[at] = place
    mass, num_typical = 0.0, 0
    while num_typical < num_kept and mass <= typical_p * total:
        mass += weights[order[num_typical]]
        num_typical += 1
    for index in range(num_typical, num_kept):
        kept[order[index]] = -1
    num_left = 0
    for place in range(num_kept):
        if kept[place] >= 0:
            kept[num_left], weights[num_left] = kept[place], weights[place]
            num_left += 1
    return num_left


@internal()
def keep_typical(
    values: Logits, maximum: Scalar, typical_p: Scalar, weights: Logits, masses: Reals, candidates: Ids
) -> Scalar:
    """Set to 0 all weights exp(value - maximum) that are not typical; the largest value that is.

    Bisection over the bit patterns of distances, which are in the order of the distances, narrows the last
    distance down to MAX_SORTED ids or to one distance. `candidates` is room for MAX_SORTED.
    """
    total = fill_masses(weights, masses)
    centre = np.float32(maximum + _sum_below(values, maximum, weights) / total)
    target = typical_p * total
    low, high = np.int64(-1), bits_of(_RADIUS_OF_ALL)
    mass_low, num_low = 0.0, 0
    mass, num_high = _mass_within(values, weights, centre, weight_of(high))
    if mass <= target:
        return maximum
    while high - low > 1 and num_high - num_low > MAX_SORTED:
        middle = (low + high) // 2
        mass, num_middle = _mass_within(values, weights, centre, weight_of(middle))
        if mass > target:
            high, num_high = middle, num_middle
        else:
            low, mass_low, num_low = middle, mass, num_middle
    inner = weight_of(low) if low >= 0 else np.float32(-1.0)
    outer, missing = weight_of(high), target - mass_low
    if num_high - num_low > MAX_SORTED:
        _drop_behind_equals(values, weights, centre, outer, missing)
    else:
        _drop_behind(values, weights, centre, inner, outer, missing, candidates)
    return _drop_beyond(values, weights, centre, outer)


@internal()
def _sum_below(values: Logits, maximum: Scalar, weights: Logits) -> Scalar:
    """The sum of weight * (value - maximum)."""
    total: Scalar = 0.0
    lowest, centre = broadcast(np.float32(-200)), broadcast(np.float32(maximum))
    for start in range(0, values.size, PART):
        total += sum_weighted_distances(values, weights, start, min(start + PART, values.size), lowest, centre)
    return total


@internal()
def _mass_within(values: Logits, weights: Logits, centre: Scalar, radius: Scalar) -> Any:
    """The sum of the weights whose values are that near to the centre, and their number."""
    total: Scalar = 0.0
    num_within = np.int32(0)
    furthest, middle = broadcast(np.float32(radius)), broadcast(np.float32(centre))
    for start in range(0, values.size, PART):
        part = values[start : start + PART]
        total += sum_weights_within(values, weights, start, start + part.size, furthest, middle)
        for i in range(part.size):
            num_within += np.int32(abs(part[i] - centre) <= radius)
    return total, num_within


@internal()
def _drop_behind(
    values: Logits,
    weights: Logits,
    centre: Scalar,
    inner: Scalar,
    outer: Scalar,
    missing: Scalar,
    candidates: Ids,
) -> None:
    """Keep the nearest of the ids with inner < distance <= outer, until they exceed the missing mass."""
    size = _collect_between(values, centre, inner, outer, candidates)
    for end in range(1, size):
        token, at = candidates[end], end
        while at > 0 and _is_nearer(values[token], values[candidates[at - 1]], centre):
            candidates[at] = candidates[at - 1]
            at -= 1
        candidates[at] = token
    for index in range(size):
        if missing < 0:
            weights[candidates[index]] = np.float32(0.0)
        else:
            missing -= weights[candidates[index]]


@internal()
def _is_nearer(value: Scalar, other: Scalar, centre: Scalar) -> Scalar:
    distance, other_distance = abs(value - centre), abs(other - centre)
    return distance < other_distance or (distance == other_distance and value > other)


@internal()
def _collect_between(values: Logits, centre: Scalar, inner: Scalar, outer: Scalar, candidates: Ids) -> Scalar:
    """Fill `candidates` with the ids with inner < distance <= outer; their number."""
    size = 0
    for start in range(0, values.size, CHUNK):
        chunk = values[start : start + CHUNK]
        num_here: Scalar = np.int32(0)
        for i in range(chunk.size):
            distance = abs(chunk[i] - centre)
            num_here += np.int32((distance > inner) & (distance <= outer))
        if num_here:
            for i in range(chunk.size):
                if inner < abs(chunk[i] - centre) <= outer:
                    candidates[size] = start + i
                    size += 1
    return size


@internal()
def _drop_behind_equals(values: Logits, weights: Logits, centre: Scalar, radius: Scalar, missing: Scalar) -> None:
    """Keep as many of the ids at this distance as exceed the missing mass."""
    for is_above in (True, False):
        for i in range(values.size):
            if abs(values[i] - centre) == radius and (values[i] >= centre) == is_above:
                if missing < 0:
                    weights[i] = np.float32(0.0)
                else:
                    missing -= weights[i]


@internal(fastmath={"reassoc", "nnan", "nsz"})
def _drop_beyond(values: Logits, weights: Logits, centre: Scalar, radius: Scalar) -> Scalar:
    """Set to 0 the weights further away; the largest value that has any weight left."""
    largest = np.float32(-np.inf)
    for i in range(values.size):
        weight = np.float32(0.0) if abs(values[i] - centre) > radius else weights[i]
        weights[i] = weight
        value = values[i] if weight > 0 else np.float32(-np.inf)
        largest = value if value > largest else largest
    return largest

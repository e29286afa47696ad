"""Draws from a whole row without sorting: weights by id, 0 for dropped ids."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cactus_actors.workers.kernels.internal import internal
from cactus_actors.workers.kernels.logit_chunks import CHUNK, PART
from cactus_actors.workers.kernels.nucleus import cut_of
from cactus_actors.workers.kernels.sampling_scratch import LOWEST, MIN_TEMPERATURE, NEGATIVE_INFINITY, Scratch
from cactus_actors.workers.kernels.sampling_typical import keep_typical
from cactus_actors.workers.kernels.softmax import Logits, Reals, Scalar, fill_masses, fill_weights, reweigh


@internal()
def draw_from_all(values: Logits, maximum: Scalar, row: Any, random: Scalar, scratch: Scratch) -> Scalar:
    """Draw from the ids that pass top_k, typical_p, top_p and min_p, laid end to end in order of id.

    Probabilities are those at temperature 1 over the ids kept by the rule before.
    """
    temperature = max(row.temperature, MIN_TEMPERATURE)
    weights = scratch.weights
    floor, last = NEGATIVE_INFINITY, np.int64(values.size)
    if 0 < row.top_k < values.size:
        floor, last = last_of_top(values, maximum, row.top_k)
    if row.top_p >= 1.0 and row.typical_p >= 1.0:
        least = np.float32(maximum + math.log(row.min_p)) if row.min_p > 0.0 else NEGATIVE_INFINITY
        if least > floor:
            floor, last = least, np.int64(values.size)
        fill_weights(values, maximum, floor, last, temperature, weights)
        return draw_by_id(weights, random, fill_masses(weights, scratch.totals), scratch.totals)

    fill_weights(values, maximum, floor, last, 1.0, weights)
    largest = maximum
    if row.typical_p < 1.0:
        largest = keep_typical(values, maximum, row.typical_p, weights, scratch.totals, scratch.candidates)
    cut, last = np.float32(0.0), np.int64(values.size)
    if row.top_p < 1.0:
        total = fill_masses(weights, scratch.totals)
        cut, last = cut_of(weights, total, row.top_p, scratch.candidates)
    least = np.float32(row.min_p * math.exp(largest - maximum))
    if least > cut:
        cut, last = least, np.int64(values.size)
    reweigh(values, largest, cut, last, temperature, weights)
    return draw_by_id(weights, random, fill_masses(weights, scratch.totals), scratch.totals)


@internal()
def draw_by_id(weights: Logits, random: Scalar, total: Scalar, masses: Reals) -> Scalar:
    """Draw an id by weight, the weights laid end to end in order of id; `masses` are those of the parts."""
    rest = random * total
    part = 0
    while part < masses.size - 1 and rest >= masses[part]:
        rest -= masses[part]
        part += 1
    last = -1
    while last < 0:  # rounding may carry past the last part that has any mass
        for i in range(part * PART, min((part + 1) * PART, weights.size)):
            if weights[i] > 0:
                last = i
                rest -= weights[i]
                if rest < 0:
                    return i
        part -= 1
    return last


@internal()
def first_of(values: Logits, maxima: Logits, maximum: Scalar) -> Scalar:
    """The lowest id whose logit is `maximum`."""
    for chunk in range(maxima.size):
        if maxima[chunk] == maximum:
            for i in range(chunk * CHUNK, min((chunk + 1) * CHUNK, values.size)):
                if values[i] == maximum:
                    return i
    return 0


@internal()
def last_of_top(values: Logits, maximum: Scalar, num_wanted: Scalar) -> Any:
    """(logit, id) of the last of `num_wanted` ids, in the order of descending logit and ascending id.

    Bisection over the logits in the order of their bit patterns. Fewer ids may come: (LOWEST, V).
    """
    low, high = _place_of(LOWEST), _place_of(maximum) + 1
    if _num_from(values, LOWEST) <= num_wanted:
        return LOWEST, np.int64(values.size)
    num_high = 0
    while high - low > 1:  # from low on there are more than `num_wanted`, from high on fewer
        middle = (low + high) // 2
        num_middle = _num_from(values, _logit_at(middle))
        if num_middle == num_wanted:
            return _logit_at(middle), np.int64(values.size)
        if num_middle > num_wanted:
            low = middle
        else:
            high, num_high = middle, num_middle
    logit, num_missing, last = _logit_at(low), num_wanted - num_high, np.int64(0)
    for i in range(values.size):
        if values[i] == logit and num_missing > 0:
            last = np.int64(i)
            num_missing -= 1
    return logit, last


@internal()
def _place_of(logit: Scalar) -> Scalar:
    """An integer for a finite float32, in the same order."""
    bits = np.int64(np.float32(logit).view(np.int32))
    return bits if bits >= 0 else np.int64(-(2**31)) - bits


@internal()
def _logit_at(place: Scalar) -> Scalar:
    bits = place if place >= 0 else np.int64(-(2**31)) - place
    return np.int32(bits).view(np.float32)


@internal()
def _num_from(values: Logits, floor: Scalar) -> Scalar:
    """Number of logits >= floor."""
    total: Scalar = 0
    for start in range(0, values.size, PART):
        part = values[start : start + PART]
        num_here: Scalar = np.int32(0)
        for i in range(part.size):
            num_here += np.int32(part[i] >= floor)
        total += num_here
    return total

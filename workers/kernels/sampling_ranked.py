"""The most likely ids of a row in descending order, and the rules over such a list."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cactus_actors.workers.kernels.heap import heapify, kth_largest, pop
from cactus_actors.workers.kernels.internal import internal
from cactus_actors.workers.kernels.logit_chunks import CHUNK
from cactus_actors.workers.kernels.sampling_scratch import LOWEST, MIN_TEMPERATURE, Scratch
from cactus_actors.workers.kernels.sampling_typical import keep_typical_ranks
from cactus_actors.workers.kernels.softmax import Ids, Logits, Scalar

MAX_RANKED = 256
"""Beyond this a list in order costs more than passes over the whole row."""


@internal()
def rank_top(values: Logits, num_wanted: Scalar, scratch: Scratch) -> Scalar:
    """Fill `kept` with the ids of the largest logits, descending, lower ids first on ties; returns their number.

    The maxima of all chunks are up to date. Forbidden ids are not ranked.
    """
    floor = max(kth_largest(scratch.maxima, num_wanted, scratch.weights), LOWEST)
    size = _collect(values, scratch.maxima, floor, scratch.candidates)
    heapify(values, scratch.candidates, size)
    num_ranked = min(num_wanted, size)
    for place in range(num_ranked):
        scratch.kept[place] = pop(values, scratch.candidates, size - place)
    return num_ranked


@internal()
def draw_from_top(values: Logits, row: Any, random: Scalar, scratch: Scratch) -> Scalar:
    """Draw from the ids that pass top_k, typical_p, top_p and min_p, laid end to end in descending order.

    Probabilities are those at temperature 1 over the ids kept by the rule before.
    """
    kept, weights = scratch.kept, scratch.kept_weights
    num_kept = rank_top(values, row.top_k, scratch)
    maximum = np.float64(values[kept[0]])
    for place in range(num_kept):
        weights[place] = math.exp(np.float64(values[kept[place]]) - maximum)
    if row.typical_p < 1.0:
        num_kept = keep_typical_ranks(values, row.typical_p, kept, weights, num_kept, scratch.candidates)
    if row.top_p < 1.0:
        total = 0.0
        for place in range(num_kept):
            total += weights[place]
        limit, num_kept, mass = num_kept, 1, weights[0]
        while num_kept < limit and mass < row.top_p * total:
            mass += weights[num_kept]
            num_kept += 1
    while num_kept > 1 and weights[num_kept - 1] < row.min_p * weights[0]:
        num_kept -= 1

    temperature = max(row.temperature, MIN_TEMPERATURE)
    maximum = np.float64(values[kept[0]])
    total = 0.0
    for place in range(num_kept):
        weights[place] = math.exp((np.float64(values[kept[place]]) - maximum) / temperature)
        total += weights[place]
    rest = random * total
    last = kept[0]
    for place in range(num_kept):
        if weights[place] > 0:
            last = kept[place]
            rest -= weights[place]
            if rest < 0:
                break
    return last


@internal()
def _collect(values: Logits, maxima: Logits, floor: Scalar, candidates: Ids) -> Scalar:
    """Fill `candidates` with the ids whose logit is >= floor; their number."""
    size = 0
    for chunk in range(maxima.size):
        if maxima[chunk] >= floor:
            for i in range(chunk * CHUNK, min((chunk + 1) * CHUNK, values.size)):
                if values[i] >= floor:
                    candidates[size] = i
                    size += 1
    return size

"""Mirostat: sampling with a target surprise of tau bits per token (Basu et al. 2021).

Both versions keep a state mu, 2 tau at first, and move it by eta times what the surprise of a token, under
the distribution it was drawn from, was off tau. Probabilities are those after the temperature.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cactus_actors.workers.kernels.internal import internal
from cactus_actors.workers.kernels.sampling_all import draw_by_id, first_of, last_of_top
from cactus_actors.workers.kernels.sampling_ranked import rank_top
from cactus_actors.workers.kernels.sampling_scratch import LOWEST, MIN_TEMPERATURE, NEGATIVE_INFINITY, Scratch
from cactus_actors.workers.kernels.softmax import Ids, Logits, Scalar, fill_masses, fill_weights

NUM_FITTED = 100
"""Tokens that version 1 fits its power law to, as llama.cpp does."""


@internal()
def draw_mirostat(values: Logits, maximum: Scalar, row: Any, mu: Scalar, random: Scalar, scratch: Scratch) -> Any:
    """(id, the next mu)."""
    temperature = max(row.temperature, MIN_TEMPERATURE)
    size = np.int64(values.size)
    weights = scratch.weights
    if row.mirostat == 1:
        num_ranked = rank_top(values, min(NUM_FITTED, size), scratch)
        num_kept = _num_kept(values, scratch.kept, num_ranked, temperature, mu)
        if num_kept <= num_ranked:
            last = np.int64(scratch.kept[num_kept - 1])
            floor = values[last]
        elif num_kept < size:
            floor, last = last_of_top(values, maximum, num_kept)
        else:
            floor, last = NEGATIVE_INFINITY, size
    else:
        fill_weights(values, maximum, NEGATIVE_INFINITY, size, temperature, weights)
        log_total = math.log(fill_masses(weights, scratch.totals))
        floor, last = np.float32(maximum + temperature * (log_total - mu * math.log(2))), size
        if floor > maximum:
            floor, last = maximum, np.int64(first_of(values, scratch.maxima, maximum))
    fill_weights(values, maximum, floor, last, temperature, weights)
    total = fill_masses(weights, scratch.totals)
    token = draw_by_id(weights, random, total, scratch.totals)
    log_probability = (np.float64(values[token]) - maximum) / temperature - math.log(total)
    surprise = -log_probability / math.log(2)
    return token, mu - row.mirostat_eta * (surprise - row.mirostat_tau)


@internal(error_model="numpy")
def _num_kept(values: Logits, ranked: Ids, num_ranked: Scalar, temperature: Scalar, mu: Scalar) -> Scalar:
    """Number of tokens that version 1 keeps: the rank that gives mu under a fitted Zipf law.

    Where the fit has no exponent or no rank follows, all are kept.
    """
    size = values.size
    sum_of_products, sum_of_squares = 0.0, 0.0
    for i in range(num_ranked - 1):
        if values[ranked[i + 1]] <= LOWEST:
            break
        t = math.log((i + 2) / (i + 1))
        b = (np.float64(values[ranked[i]]) - values[ranked[i + 1]]) / temperature
        sum_of_products += t * b
        sum_of_squares += t * t
    if sum_of_squares == 0.0 or sum_of_products == 0.0:
        return size if sum_of_squares > 0.0 else 1
    exponent = sum_of_products / sum_of_squares
    epsilon = exponent - 1.0
    log_size = math.log(size)
    # epsilon / (1 - N^-epsilon), whose limit at 0 is 1 / ln N
    ratio = epsilon / -math.expm1(-epsilon * log_size) if epsilon != 0.0 else 1.0 / log_size
    rank = (ratio * 2.0**mu) ** (1.0 / exponent)
    if not rank < size:
        return size
    return max(np.int64(rank), 1)

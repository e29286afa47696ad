"""The experts of a token and their weights."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cactus_actors.workers.kernels.internal import internal
from cactus_actors.workers.kernels.row_kernels import sigmoid
from cactus_actors.workers.kernels.simd import (
    broadcast,
    divide,
    exponential,
    keep_first,
    load_first,
    store_first,
    sum_of_lanes,
)


@internal(error_model="numpy")
def choose_experts(
    logits: Any,
    start: int,
    num_experts: int,
    top_k: int,
    normalise_over_chosen: bool,
    ids: Any,  # int32
    weights: Any,
    out_start: int,
) -> None:
    """The `top_k` most likely of `num_experts`, best first, equals by id; softmax over all or over the chosen.

    Ids and weights are written from `out_start` on. The ids are valid and distinct whatever the logits are; a
    logit that is not a number comes last and makes every weight that it takes part in not a number.
    """
    _choose(logits, start, num_experts, top_k, ids, weights, out_start)
    best = weights[out_start]
    for rank in range(top_k):
        weights[out_start + rank] = logits[start + ids[out_start + rank]]
    if normalise_over_chosen:
        total = _sum_of_exponentials(weights, out_start, top_k, best)
    else:
        total = _sum_of_exponentials(logits, start, num_experts, best)
    for rank in range(0, top_k, 16):
        count = min(16, top_k - rank)
        powers = exponential(load_first(weights, out_start + rank, count) - broadcast(best))
        store_first(weights, out_start + rank, divide(powers, broadcast(total)), count)


@internal(error_model="numpy")
def score_experts(
    logits: Any, start: int, num_experts: int, biases: Any, biases_start: int, scores: Any, scores_start: int
) -> None:
    """scores = sigmoid(logits) + biases, by which experts are chosen (Wang et al. 2024, loss-free balancing)."""
    for expert in range(0, num_experts, 16):
        count = min(16, num_experts - expert)
        total = sigmoid(load_first(logits, start + expert, count)) + load_first(biases, biases_start + expert, count)
        store_first(scores, scores_start + expert, total, count)


@internal(error_model="numpy")
def choose_experts_by_sigmoid(
    scores: Any,
    scores_start: int,
    logits_start: int,
    num_experts: int,
    top_k: int,
    normalised: bool,
    scale: float,
    ids: Any,  # int32
    weights: Any,
    out_start: int,
) -> None:
    """The `top_k` experts of the highest scores, weighted by the sigmoids of their logits times `scale`.

    Scores and logits are in one array. Normalised weights are divided by their sum plus 1e-6.
    """
    _choose(scores, scores_start, num_experts, top_k, ids, weights, out_start)
    total = np.float32(0)
    for rank in range(out_start, out_start + top_k):
        weights[rank] = scores[logits_start + ids[rank]]
    for rank in range(0, top_k, 16):
        count = min(16, top_k - rank)
        store_first(weights, out_start + rank, sigmoid(load_first(weights, out_start + rank, count)), count)
    for rank in range(out_start, out_start + top_k):
        total += weights[rank]
    divisor = total + np.float32(1e-6) if normalised else np.float32(1)
    for rank in range(out_start, out_start + top_k):
        weights[rank] = weights[rank] / divisor * np.float32(scale)


@internal(error_model="numpy")
def _choose(logits: Any, start: int, num_experts: int, top_k: int, ids: Any, weights: Any, out_start: int) -> None:
    """Insert one expert after the other into the chosen ones; `weights` holds their logits meanwhile."""
    for expert in range(num_experts):
        logit = logits[start + expert]
        if math.isnan(logit):
            logit = np.float32(-math.inf)
        place = out_start + min(expert, top_k)
        while place > out_start and weights[place - 1] < logit:
            place -= 1
        for behind in range(out_start + min(expert, top_k - 1), place, -1):
            ids[behind], weights[behind] = ids[behind - 1], weights[behind - 1]
        if place < out_start + top_k:
            ids[place], weights[place] = expert, logit


@internal(error_model="numpy")
def _sum_of_exponentials(values: Any, start: int, count: int, largest: float) -> Any:
    total = np.float32(0)
    for index in range(0, count, 16):
        num = min(16, count - index)
        powers = exponential(keep_first(load_first(values, start + index, num) - broadcast(largest), num))
        total += sum_of_lanes(powers)
    return total

"""Causal attention of single rows over paged keys and values.

Each row and head goes through its own positions sixteen at a time, in order, with an online softmax
(Milakov and Gimelshein 2018): no row looks at another row, and block ids do not matter.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from workers.kernels.vectors import (
    broadcast,
    exponential,
    fma,
    keep_first,
    load,
    max_of_lanes,
    maximum,
    store,
    sum_of_lanes,
)


@njit(error_model="numpy")
def write_keys_values(
    qkv: Any,
    row: int,
    key_column: int,
    value_column: int,
    keys: Any,
    values: Any,
    layer: int,
    block: int,
    slot: int,
) -> None:
    """Store a row's keys and values, (kv_heads, head_dim) each, in one slot of a block."""
    kv_heads, head_dim = keys.shape[2], keys.shape[3]
    for head in range(kv_heads):
        for index in range(head_dim):
            keys[layer, block, head, index, slot] = qkv[row, key_column + head * head_dim + index]
            values[layer, block, head, slot, index] = qkv[row, value_column + head * head_dim + index]


@njit(error_model="numpy")
def attend(
    queries: Any,  # (rows, width) float32; this head's query starts at `query_column`
    row: int,
    query_column: int,
    keys: Any,
    values: Any,
    layer: int,
    kv_head: int,
    block_table: Any,  # (sequences, max_blocks)
    sequence: int,
    length: int,
    weights: Any,  # (ranks, 16) float32: room for the weights of sixteen positions
    sums: Any,  # (ranks, padded head_dim) float32
    rank: int,
    out: Any,  # (rows, width) float32
) -> None:
    """out[row, query_column:][:head_dim] = softmax(q . K / sqrt(head_dim)) . V over the first `length`."""
    kv_heads, head_dim, lanes = keys.shape[2], keys.shape[3], keys.shape[4]
    block_size, width = values.shape[3], values.shape[4]
    scale = broadcast(np.float32(1) / np.float32(np.sqrt(np.float32(head_dim))))
    weight, total = rank * weights.shape[1], rank * sums.shape[1]
    zero = broadcast(np.float32(0))
    for column in range(0, width, 16):
        store(sums, total + column, zero)
    largest = broadcast(np.float32(-np.inf))
    mass = zero

    for first in range(0, length, block_size):
        block = block_table[sequence, first // block_size]
        head = (layer * keys.shape[1] + block) * kv_heads + kv_head
        for slot in range(0, min(block_size, length - first), 16):
            count = min(16, block_size - slot, length - first - slot)
            scores = keep_first(
                _scores(queries, row, query_column, keys, head * head_dim * lanes + slot, head_dim, lanes)
                * scale,
                count,
            )

            previous, largest = largest, maximum(largest, broadcast(max_of_lanes(scores)))
            shrink = exponential(previous - largest)
            attention = exponential(scores - largest)
            mass = fma(mass, shrink, attention)
            store(weights, weight, attention)

            value = (head * block_size + slot) * width
            for column in range(0, width, 16):
                mixed = load(sums, total + column) * shrink
                for position in range(count):
                    factor = broadcast(weights[rank, position])
                    mixed = fma(factor, load(values, value + position * width + column), mixed)
                store(sums, total + column, mixed)

    share = np.float32(1) / sum_of_lanes(mass)
    for index in range(head_dim):
        out[row, query_column + index] = sums[rank, index] * share


@njit(error_model="numpy")
def _scores(queries: Any, row: int, column: int, keys: Any, key: int, head_dim: int, lanes: int) -> Any:
    # Four chains in a fixed order, because one would wait for each multiply-add.
    first = second = third = fourth = broadcast(np.float32(0))
    for index in range(0, head_dim, 4):
        at = key + index * lanes
        first = fma(broadcast(queries[row, column + index]), load(keys, at), first)
        second = fma(broadcast(queries[row, column + index + 1]), load(keys, at + lanes), second)
        third = fma(broadcast(queries[row, column + index + 2]), load(keys, at + 2 * lanes), third)
        fourth = fma(broadcast(queries[row, column + index + 3]), load(keys, at + 3 * lanes), fourth)
    return (first + second) + (third + fourth)

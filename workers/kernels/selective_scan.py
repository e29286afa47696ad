"""The selective scan of Mamba-2 (Dao and Gu 2024): a matrix of each head that forgets, adds and is read."""

from __future__ import annotations

from typing import Any

import numpy as np

from cactus_actors.workers.kernels.delta_rule import COLUMNS_OF_PART
from cactus_actors.workers.kernels.internal import internal
from cactus_actors.workers.kernels.simd import broadcast, fma, load, load_first, spread, store, store_first


@internal(error_model="numpy")
def selective_scan(
    state: Any,  # (key_dim, COLUMNS_OF_PART) from `state_start` on
    state_start: int,
    key_dim: int,
    rows: Any,
    query: int,  # of the first token
    key: int,
    value: int,
    gates: int,  # offset of the step; the decay is `decay_offset` after it
    decay_offset: int,
    row_width: int,
    num_tokens: int,
    num_columns: int,  # of the part, 1..COLUMNS_OF_PART
    skip: float,
    out: Any,
    out_start: int,
    out_width: int,
) -> None:
    """Per token: S = decay S + key (step value); out = query S + skip value, for some columns of S."""
    zero = broadcast(np.float32(0))
    low_count, high_count = min(num_columns, 16), max(num_columns - 16, 0)
    pairs, share = key_dim // 2 * 2, broadcast(np.float32(skip))
    for token in range(num_tokens):
        row = token * row_width
        step, decay = spread(rows, gates + row), spread(rows, gates + decay_offset + row)
        low_given = load_first(rows, value + row, low_count)
        high_given = load_first(rows, value + row + 16, high_count)
        low_change, high_change = low_given * step, high_given * step
        # Two sums, because one would wait for each multiply-add.
        low_0 = low_1 = high_0 = high_1 = zero
        for index in range(0, pairs, 2):
            place = state_start + index * COLUMNS_OF_PART
            lanes, asked = spread(rows, key + row + index), spread(rows, query + row + index)
            low = fma(lanes, low_change, load(state, place) * decay)
            high = fma(lanes, high_change, load(state, place + 16) * decay)
            store(state, place, low)
            store(state, place + 16, high)
            low_0, high_0 = fma(asked, low, low_0), fma(asked, high, high_0)
            lanes, asked = spread(rows, key + row + index + 1), spread(rows, query + row + index + 1)
            low = fma(lanes, low_change, load(state, place + 32) * decay)
            high = fma(lanes, high_change, load(state, place + 48) * decay)
            store(state, place + 32, low)
            store(state, place + 48, high)
            low_1, high_1 = fma(asked, low, low_1), fma(asked, high, high_1)
        for index in range(pairs, key_dim):
            place = state_start + index * COLUMNS_OF_PART
            lanes, asked = spread(rows, key + row + index), spread(rows, query + row + index)
            low = fma(lanes, low_change, load(state, place) * decay)
            high = fma(lanes, high_change, load(state, place + 16) * decay)
            store(state, place, low)
            store(state, place + 16, high)
            low_0, high_0 = fma(asked, low, low_0), fma(asked, high, high_0)
        target = out_start + token * out_width
        store_first(out, target, fma(share, low_given, low_0 + low_1), low_count)
        store_first(out, target + 16, fma(share, high_given, high_0 + high_1), high_count)

"""The gated delta rule (Yang et al. 2024): a matrix of each head that forgets, corrects itself and is read."""

from __future__ import annotations

from typing import Any

import numpy as np

from cactus_actors.workers.kernels.internal import internal
from cactus_actors.workers.kernels.simd import broadcast, fma, load, load_first, spread, store, store_first

COLUMNS_OF_PART = 32
"""Columns of a head's matrix that one task computes; they stay in the first-level cache from token to token."""


@internal(error_model="numpy")
def delta_rule(
    state: Any,  # (key_dim, COLUMNS_OF_PART) from `state_start` on
    state_start: int,
    key_dim: int,
    rows: Any,
    query: int,  # of the first token
    key: int,
    value: int,
    gates: int,  # offset of the strength; the decay is `decay_offset` after it
    decay_offset: int,
    row_width: int,
    num_tokens: int,
    num_columns: int,  # of the part, 1..COLUMNS_OF_PART
    scale: float,
    out: Any,
    out_start: int,
    out_width: int,
) -> None:
    """Per token: S = decay S; S += key (strength (value - key S)); out = scale query S, for some columns of S."""
    zero = broadcast(np.float32(0))
    fours = key_dim // 4 * 4
    low_count, high_count = min(num_columns, 16), max(num_columns - 16, 0)
    for token in range(num_tokens):
        row = token * row_width
        strength, decay = spread(rows, gates + row), spread(rows, gates + decay_offset + row)
        # Four sums, because one would wait for each multiply-add.
        low_0 = low_1 = low_2 = low_3 = high_0 = high_1 = high_2 = high_3 = zero
        for index in range(0, fours, 4):
            place, factor = state_start + index * COLUMNS_OF_PART, key + row + index
            lanes = spread(rows, factor)
            low_0, high_0 = fma(lanes, load(state, place), low_0), fma(lanes, load(state, place + 16), high_0)
            lanes = spread(rows, factor + 1)
            low_1, high_1 = fma(lanes, load(state, place + 32), low_1), fma(lanes, load(state, place + 48), high_1)
            lanes = spread(rows, factor + 2)
            low_2, high_2 = fma(lanes, load(state, place + 64), low_2), fma(lanes, load(state, place + 80), high_2)
            lanes = spread(rows, factor + 3)
            low_3, high_3 = fma(lanes, load(state, place + 96), low_3), fma(lanes, load(state, place + 112), high_3)
        for index in range(fours, key_dim):
            place, lanes = state_start + index * COLUMNS_OF_PART, spread(rows, key + row + index)
            low_0, high_0 = fma(lanes, load(state, place), low_0), fma(lanes, load(state, place + 16), high_0)
        low_0, high_0 = (low_0 + low_1) + (low_2 + low_3), (high_0 + high_1) + (high_2 + high_3)
        low_given = load_first(rows, value + row, low_count)
        high_given = load_first(rows, value + row + 16, high_count)
        low_change, high_change = (low_given - decay * low_0) * strength, (high_given - decay * high_0) * strength

        low, high = write_and_read(
            state, state_start, key_dim, rows, query + row, key + row, low_change, high_change, decay
        )
        factor, target = broadcast(np.float32(scale)), out_start + token * out_width
        store_first(out, target, low * factor, low_count)
        store_first(out, target + 16, high * factor, high_count)


@internal(error_model="numpy")
def write_and_read(
    state: Any,
    state_start: int,
    key_dim: int,
    rows: Any,
    query: int,
    key: int,
    low_change: Any,  # of the first 16 columns
    high_change: Any,
    decay: Any,
) -> Any:
    """S = decay S + key change, for one token; returns query S, the first 16 columns and the others."""
    # Two sums, because one would wait for each multiply-add.
    low_0 = low_1 = high_0 = high_1 = broadcast(np.float32(0))
    pairs = key_dim // 2 * 2
    for index in range(0, pairs, 2):
        place = state_start + index * COLUMNS_OF_PART
        lanes, asked = spread(rows, key + index), spread(rows, query + index)
        low = fma(lanes, low_change, load(state, place) * decay)
        high = fma(lanes, high_change, load(state, place + 16) * decay)
        store(state, place, low)
        store(state, place + 16, high)
        low_0, high_0 = fma(asked, low, low_0), fma(asked, high, high_0)
        lanes, asked = spread(rows, key + index + 1), spread(rows, query + index + 1)
        low = fma(lanes, low_change, load(state, place + 32) * decay)
        high = fma(lanes, high_change, load(state, place + 48) * decay)
        store(state, place + 32, low)
        store(state, place + 48, high)
        low_1, high_1 = fma(asked, low, low_1), fma(asked, high, high_1)
    for index in range(pairs, key_dim):
        place = state_start + index * COLUMNS_OF_PART
        lanes, asked = spread(rows, key + index), spread(rows, query + index)
        low = fma(lanes, low_change, load(state, place) * decay)
        high = fma(lanes, high_change, load(state, place + 16) * decay)
        store(state, place, low)
        store(state, place + 16, high)
        low_0, high_0 = fma(asked, low, low_0), fma(asked, high, high_0)
    return low_0 + low_1, high_0 + high_1

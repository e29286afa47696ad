"""The selective scan of Mamba-2 (Dao and Gu 2024): a matrix of each head that forgets, adds and is read."""

from __future__ import annotations

from typing import Any

import numpy as np

from cactus_actors.workers.kernels.delta_rule import write_and_read
from cactus_actors.workers.kernels.internal import internal
from cactus_actors.workers.kernels.simd import broadcast, fma, load_first, spread, store_first


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
    low_count, high_count = min(num_columns, 16), max(num_columns - 16, 0)
    share = broadcast(np.float32(skip))
    for token in range(num_tokens):
        row = token * row_width
        step, decay = spread(rows, gates + row), spread(rows, gates + decay_offset + row)
        low_given = load_first(rows, value + row, low_count)
        high_given = load_first(rows, value + row + 16, high_count)
        low, high = write_and_read(
            state, state_start, key_dim, rows, query + row, key + row, low_given * step, high_given * step, decay
        )
        target = out_start + token * out_width
        store_first(out, target, fma(share, low_given, low), low_count)
        store_first(out, target + 16, fma(share, high_given, high), high_count)

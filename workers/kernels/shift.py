"""The rows of a sequence, each in the place of the one after it, with the last row as state."""

from __future__ import annotations

from typing import Any

from cactus_actors.workers.kernels.internal import internal

COLUMNS_OF_PART = 256
"""Columns that one task copies; a part of the state has as many."""


@internal(error_model="numpy")
def shift(
    state: Any,
    state_start: int,
    part: int,
    rows: Any,
    start: int,  # of the first token's row
    row_width: int,
    num_tokens: int,
    num_columns: int,
    out: Any,
    out_start: int,
    out_width: int,
) -> None:
    """out[token] = rows[token - 1] for the columns of one part; the first row is the state, which then has the last.

    Columns of `out` from `num_columns` on become zero.
    """
    first = part * COLUMNS_OF_PART
    last = min(first + COLUMNS_OF_PART, num_columns)
    for token in range(num_tokens):
        target = out_start + token * out_width
        for column in range(first, last):
            if token:
                out[target + column] = rows[start + (token - 1) * row_width + column]
            else:
                out[target + column] = state[state_start + column - first]
        for padding in range(num_columns, out_width if last == num_columns else 0):
            out[target + padding] = 0
    for column in range(first, last):
        state[state_start + column - first] = rows[start + (num_tokens - 1) * row_width + column]

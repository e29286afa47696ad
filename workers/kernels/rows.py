"""What happens to single rows between two matrices: normalisation, activation, rotation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from workers.kernels.vectors import broadcast, divide, exponential, fma, load, store, sum_of_lanes


@njit(error_model="numpy")
def rms_norm(
    source: Any, source_row: int, gains: Any, layer: int, num_columns: int, epsilon: float, out: Any, row: int
) -> None:
    """out[row] = source[source_row] / sqrt(mean of squares + epsilon) * gains[layer].

    Columns from `num_columns` on are zero in `source` and `gains`, and stay zero.
    """
    read, write = source_row * source.shape[1], row * out.shape[1]
    gain, width = layer * gains.shape[1], gains.shape[1]
    squares = broadcast(np.float32(0))
    for column in range(0, width, 16):
        values = load(source, read + column)
        squares = fma(values, values, squares)
    mean = sum_of_lanes(squares) / np.float32(num_columns)
    scale = broadcast(np.float32(1) / np.float32(math.sqrt(mean + np.float32(epsilon))))
    for column in range(0, width, 16):
        store(out, write + column, load(source, read + column) * scale * load(gains, gain + column))


@njit(error_model="numpy")
def silu_gate(gate_up: Any, row: int, num_columns: int, out: Any) -> None:
    """out[row] = silu(gate) * up, where the row of `gate_up` is gate then up, `num_columns` each."""
    read, write = row * gate_up.shape[1], row * out.shape[1]
    one, zero = broadcast(np.float32(1)), broadcast(np.float32(0))
    whole = num_columns // 16 * 16
    for column in range(0, whole, 16):
        gate, up = load(gate_up, read + column), load(gate_up, read + num_columns + column)
        store(out, write + column, divide(gate, one + exponential(zero - gate)) * up)
    if whole < num_columns:
        # The last vector holds other columns behind its own: they are cleared again.
        gate, up = load(gate_up, read + whole), load(gate_up, read + num_columns + whole)
        store(out, write + whole, divide(gate, one + exponential(zero - gate)) * up)
        for column in range(num_columns, whole + 16):
            out[row, column] = 0


@njit(error_model="numpy")
def rotate(
    values: Any, row: int, column: int, head_dim: int, cosines: Any, sines: Any, position: int
) -> None:
    """Rotary embedding of one head, in place: lane i turns with lane i + head_dim / 2 (Su et al. 2021)."""
    half = head_dim // 2
    for index in range(half):
        cosine, sine = cosines[position, index], sines[position, index]
        first, second = values[row, column + index], values[row, column + half + index]
        values[row, column + index] = first * cosine - second * sine
        values[row, column + half + index] = second * cosine + first * sine

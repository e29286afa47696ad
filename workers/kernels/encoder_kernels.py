"""Operations on single rows of encoders: LayerNorm, activations without gates, merged rows.

Rows are as in `row_kernels`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cactus_actors.workers.kernels.internal import internal
from cactus_actors.workers.kernels.row_kernels import clear_padding, gelu, whole_and_rest
from cactus_actors.workers.kernels.simd import (
    absolute,
    broadcast,
    divide,
    exponential,
    fma,
    load,
    load_first,
    maximum,
    store,
    store_first,
    sum_of_lanes,
)


@internal(error_model="numpy")
def layer_norm(
    source: Any,
    source_start: int,
    parameters: Any,  # gains and biases, padded like rows
    gains_start: int,
    biases_start: int,
    num_columns: int,
    epsilon: float,
    out: Any,
    out_start: int,
    first: int,
    last: int,
) -> None:
    """A slice of out = (source - mean) / sqrt(variance + epsilon) * gains + biases (Ba, Kiros, Hinton 2016)."""
    mean, variance = mean_and_variance(source, source_start, num_columns)
    scale = broadcast(np.float32(1) / np.float32(math.sqrt(variance + np.float32(epsilon))))
    centre = broadcast(mean)
    whole, rest = whole_and_rest(num_columns, last)
    for column in range(first, whole, 16):
        values = (load(source, source_start + column) - centre) * scale
        gains, biases = load(parameters, gains_start + column), load(parameters, biases_start + column)
        store(out, out_start + column, fma(values, gains, biases))
    if rest:
        # Gains and biases are zero after the columns, so that the padding of the row is.
        values = (load_first(source, source_start + whole, rest) - centre) * scale
        gains = load_first(parameters, gains_start + whole, rest)
        biases = load_first(parameters, biases_start + whole, rest)
        store(out, out_start + whole, fma(values, gains, biases))
    clear_padding(out, out_start, num_columns, last)


@internal(error_model="numpy")
def _exact_gelu(x: Any) -> Any:
    """x * Phi(x) (Hendrycks and Gimpel 2016), within 2e-7 * |x|.

    erf is that of Abramowitz and Stegun (7.1.26); max(x, 0) - |x| * tail does not cancel for negative x.
    """
    one, zero = broadcast(np.float32(1)), broadcast(np.float32(0))
    z = absolute(x) * broadcast(np.float32(math.sqrt(0.5)))
    t = divide(one, fma(z, broadcast(np.float32(0.3275911)), one))
    series = broadcast(np.float32(1.061405429))
    series = fma(series, t, broadcast(np.float32(-1.453152027)))
    series = fma(series, t, broadcast(np.float32(1.421413741)))
    series = fma(series, t, broadcast(np.float32(-0.284496736)))
    series = fma(series, t, broadcast(np.float32(0.254829592)))
    tail = broadcast(np.float32(0.5)) * series * t * exponential(zero - z * z)
    return maximum(x, zero) - absolute(x) * tail


def _make_activation(activation: Any) -> Any:
    @internal(error_model="numpy")
    def activate_row(values: Any, start: int, num_columns: int) -> None:
        """values = activation(values), for `num_columns` from `start` on."""
        whole, rest = num_columns // 16 * 16, num_columns % 16
        for column in range(0, whole, 16):
            store(values, start + column, activation(load(values, start + column)))
        if rest:
            store_first(values, start + whole, activation(load_first(values, start + whole, rest)), rest)

    return activate_row


activate_tanh_gelu = _make_activation(gelu)
activate_gelu = _make_activation(_exact_gelu)


@internal(error_model="numpy")
def clamp_row(values: Any, source: int, num_columns: int, low: float, high: float, target: int) -> None:
    """`num_columns` values from `source` on, within the bounds, to `target`."""
    for column in range(num_columns):
        values[target + column] = min(max(values[source + column], low), high)


@internal(error_model="numpy")
def standardise_row(
    values: Any, start: int, parameters: Any, shift_start: int, factors_start: int, num_columns: int
) -> None:
    """values = (values - shift) * factors."""
    for column in range(num_columns):
        shifted = values[start + column] - parameters[shift_start + column]
        values[start + column] = shifted * parameters[factors_start + column]


@internal(error_model="numpy")
def merge_rows(
    values: Any, source: int, source_width: int, count: int, num_columns: int, is_mean: bool, target: int, width: int
) -> None:
    """`count` rows from `source` on, side by side or as their mean, in a row of `width` at `target`.

    Rows of the source are `source_width` apart and have `num_columns`; sums are in their order.
    """
    end = num_columns if is_mean else count * num_columns
    for column in range(end, width):
        values[target + column] = 0
    if not is_mean:
        for row in range(count):
            for column in range(num_columns):
                values[target + row * num_columns + column] = values[source + row * source_width + column]
        return
    share = np.float32(1) / np.float32(count)
    for column in range(num_columns):
        total = np.float32(0)
        for row in range(count):
            total += values[source + row * source_width + column]
        values[target + column] = total * share


@internal(error_model="numpy")
def mean_and_variance(values: Any, start: int, num_columns: int) -> Any:
    """The mean of `num_columns` values, and the mean of their squared distances from it."""
    mean = _sum(values, start, num_columns) / np.float32(num_columns)
    return mean, _sum_of_squares(values, start, num_columns, mean) / np.float32(num_columns)


@internal(error_model="numpy")
def _sum(values: Any, start: int, num_columns: int) -> Any:
    whole, rest = num_columns // 16 * 16, num_columns % 16
    total = broadcast(np.float32(0))
    for column in range(0, whole, 16):
        total = total + load(values, start + column)
    if rest:
        total = total + load_first(values, start + whole, rest)
    return sum_of_lanes(total)


@internal(error_model="numpy")
def _sum_of_squares(values: Any, start: int, num_columns: int, mean: float) -> Any:
    """The sum of (value - mean)^2."""
    whole, rest = num_columns // 16 * 16, num_columns % 16
    centre, total = broadcast(np.float32(mean)), broadcast(np.float32(0))
    for column in range(0, whole, 16):
        distance = load(values, start + column) - centre
        total = fma(distance, distance, total)
    squares = sum_of_lanes(total)
    for column in range(whole, whole + rest):
        distance_of_one = values[start + column] - np.float32(mean)
        squares += distance_of_one * distance_of_one
    return squares

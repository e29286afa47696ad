"""Operations on single rows: normalisation, activation, rotation, sums.

Rows are in flat float32 arrays, each from a `start` on. Functions that write a new row pad it with zeros to a
multiple of WIDTH_MULTIPLE; functions that change a row in place change its `num_columns` only. For a slice of
columns, `first` and `last` are multiples of WIDTH_MULTIPLE.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cactus_actors.workers.kernels.internal import internal
from cactus_actors.workers.kernels.matrix import WIDTH_MULTIPLE
from cactus_actors.workers.kernels.simd import (
    broadcast,
    divide,
    exponential,
    fma,
    hyperbolic_tangent,
    load,
    load_first,
    maximum,
    minimum,
    store,
    store_first,
    sum_of_lanes,
)


@internal(error_model="numpy")
def rms_norm(
    source: Any,
    source_start: int,
    gains: Any,
    gains_start: int,
    num_columns: int,
    epsilon: float,
    out: Any,
    out_start: int,
    first: int,
    last: int,
) -> None:
    """A slice of out = source / sqrt(mean of squares + epsilon) * gains (Zhang and Sennrich 2019).

    `out` may be `source` if the slice is the whole row; the gains are padded like a row.
    """
    whole, rest = whole_and_rest(num_columns, last)
    scale = broadcast(_inverse_rms(source, source_start, num_columns, epsilon))
    for column in range(first, whole, 16):
        values = load(source, source_start + column)
        store(out, out_start + column, values * scale * load(gains, gains_start + column))
    if rest:
        values = load_first(source, source_start + whole, rest)
        store(out, out_start + whole, values * scale * load_first(gains, gains_start + whole, rest))
    clear_padding(out, out_start, num_columns, last)


@internal(error_model="numpy")
def norm_head(values: Any, start: int, gains: Any, gains_start: int, head_dim: int, epsilon: float) -> None:
    """`rms_norm` of one head, in place between its neighbours."""
    whole, rest = head_dim // 16 * 16, head_dim % 16
    scale = broadcast(_inverse_rms(values, start, head_dim, epsilon))
    for column in range(0, whole, 16):
        head = load(values, start + column)
        store(values, start + column, head * scale * load(gains, gains_start + column))
    if rest:
        head = load_first(values, start + whole, rest)
        gain = load_first(gains, gains_start + whole, rest)
        store_first(values, start + whole, head * scale * gain, rest)


@internal(error_model="numpy")
def norm_plain_head(values: Any, start: int, head_dim: int, epsilon: float) -> None:
    """`norm_head` without gains."""
    scale_row(values, start, head_dim, _inverse_rms(values, start, head_dim, epsilon))


@internal(error_model="numpy")
def rotate(values: Any, start: int, rotary_dim: int, cosines: Any, sines: Any, table_start: int) -> None:
    """Rotary embedding of one head, in place: lane i turns with lane i + rotary_dim / 2 (Su et al. 2021).

    The tables hold rotary_dim / 2 entries for the position from `table_start` on; lanes of the head after
    `rotary_dim` stay.
    """
    half = rotary_dim // 2
    whole, rest = half // 16 * 16, half % 16
    for index in range(0, whole, 16):
        low, high = start + index, start + half + index
        cosine, sine = load(cosines, table_start + index), load(sines, table_start + index)
        first, second = load(values, low), load(values, high)
        store(values, low, first * cosine - second * sine)
        store(values, high, second * cosine + first * sine)
    if rest:
        low, high = start + whole, start + half + whole
        cosine = load_first(cosines, table_start + whole, rest)
        sine = load_first(sines, table_start + whole, rest)
        first, second = load_first(values, low, rest), load_first(values, high, rest)
        store_first(values, low, first * cosine - second * sine, rest)
        store_first(values, high, second * cosine + first * sine, rest)


@internal(error_model="numpy")
def silu(x: Any) -> Any:
    """x / (1 + e^-x) (Shazeer 2020)."""
    one, zero = broadcast(np.float32(1)), broadcast(np.float32(0))
    return divide(x, one + exponential(zero - x))


@internal(error_model="numpy")
def sigmoid(x: Any) -> Any:
    """1 / (1 + e^-x)."""
    one, zero = broadcast(np.float32(1)), broadcast(np.float32(0))
    return divide(one, one + exponential(zero - x))


@internal(error_model="numpy")
def gelu(x: Any) -> Any:
    """0.5 x (1 + tanh u) = x / (1 + e^-2u), which does not cancel for negative x (Hendrycks and Gimpel 2016)."""
    one = broadcast(np.float32(1))
    outer, inner = broadcast(np.float32(-2 * math.sqrt(2 / math.pi))), broadcast(np.float32(0.044715))
    return divide(x, one + exponential(outer * x * fma(inner * x, x, one)))


def _make_gate(activation: Any) -> Any:
    @internal(error_model="numpy")
    def gate_row(gate_up: Any, start: int, num_columns: int, out: Any, out_start: int, first: int, last: int) -> None:
        """A slice of out = activation(gate) * up; `num_columns` of gate, then as many of up, unpadded between."""
        whole, rest = whole_and_rest(num_columns, last)
        up_start = start + num_columns
        for column in range(first, whole, 16):
            gate, up = load(gate_up, start + column), load(gate_up, up_start + column)
            store(out, out_start + column, activation(gate) * up)
        if rest:
            gate = load_first(gate_up, start + whole, rest)
            up = load_first(gate_up, up_start + whole, rest)
            store(out, out_start + whole, activation(gate) * up)
        clear_padding(out, out_start, num_columns, last)

    return gate_row


gate_silu = _make_gate(silu)
gate_gelu = _make_gate(gelu)


@internal(error_model="numpy", inline="always")
def _clamped(gate: Any, up: Any, alpha: Any, limit: Any) -> Any:
    """(up + 1) * gate * sigmoid(alpha * gate) of a gate up to `limit` and an up within it (gpt-oss, 2025)."""
    one, zero = broadcast(np.float32(1)), broadcast(np.float32(0))
    gate, up = minimum(gate, limit), maximum(minimum(up, limit), zero - limit)
    return divide(gate, one + exponential(zero - alpha * gate)) * (up + one)


@internal(error_model="numpy")
def gate_clamped(
    gate_up: Any,
    start: int,
    num_columns: int,
    biases: Any,
    biases_start: int,
    alpha: float,
    limit: float,
    out: Any,
    out_start: int,
    first: int,
    last: int,
) -> None:
    """A slice of the clamped gate; `num_columns` of gate, then as many of up, and likewise their biases."""
    whole, rest = whole_and_rest(num_columns, last)
    up_start, up_biases = start + num_columns, biases_start + num_columns
    sharpness, bound = broadcast(np.float32(alpha)), broadcast(np.float32(limit))
    for column in range(first, whole, 16):
        gate = load(gate_up, start + column) + load(biases, biases_start + column)
        up = load(gate_up, up_start + column) + load(biases, up_biases + column)
        store(out, out_start + column, _clamped(gate, up, sharpness, bound))
    if rest:
        gate = load_first(gate_up, start + whole, rest) + load_first(biases, biases_start + whole, rest)
        up = load_first(gate_up, up_start + whole, rest) + load_first(biases, up_biases + whole, rest)
        store(out, out_start + whole, _clamped(gate, up, sharpness, bound))
    clear_padding(out, out_start, num_columns, last)


@internal(error_model="numpy")
def gelu_times(values: Any, start: int, factors: Any, factors_start: int, num_columns: int) -> None:
    """values = gelu(values) * factors, in the tanh approximation."""
    whole, rest = num_columns // 16 * 16, num_columns % 16
    for column in range(0, whole, 16):
        product = gelu(load(values, start + column)) * load(factors, factors_start + column)
        store(values, start + column, product)
    if rest:
        product = gelu(load_first(values, start + whole, rest)) * load_first(factors, factors_start + whole, rest)
        store_first(values, start + whole, product, rest)


@internal(error_model="numpy")
def gate_head(values: Any, start: int, head_dim: int, gate: float) -> None:
    """values *= sigmoid(gate), for one head in place."""
    share = sigmoid(broadcast(np.float32(gate)))
    whole, rest = head_dim // 16 * 16, head_dim % 16
    for column in range(start, start + whole, 16):
        store(values, column, load(values, column) * share)
    if rest:
        store_first(values, start + whole, load_first(values, start + whole, rest) * share, rest)


@internal(error_model="numpy")
def growth_of_queries(position: int, factor: float, period: int) -> Any:
    """1 + factor * ln(1 + position // period) (Llama 4, 2025)."""
    logarithm = np.float32(math.log(np.float64(1 + position // period)))
    return np.float32(1) + np.float32(factor) * logarithm


@internal(error_model="numpy")
def add_row(target: Any, target_start: int, source: Any, source_start: int, num_columns: int) -> None:
    """target += source."""
    whole, rest = num_columns // 16 * 16, num_columns % 16
    for column in range(0, whole, 16):
        total = load(target, target_start + column) + load(source, source_start + column)
        store(target, target_start + column, total)
    if rest:
        added = load_first(source, source_start + whole, rest)
        total = load_first(target, target_start + whole, rest) + added
        store_first(target, target_start + whole, total, rest)


@internal(error_model="numpy", inline="always")
def _scaled(x: Any, factor: Any) -> Any:
    return x * factor


@internal(error_model="numpy", inline="always")
def _softcapped(x: Any, cap: Any) -> Any:
    """cap * tanh(x / cap) (Gemma 2, 2024)."""
    return hyperbolic_tangent(divide(x, cap)) * cap


def _make_change(change: Any) -> Any:
    @internal(error_model="numpy")
    def change_row(values: Any, start: int, num_columns: int, number: float) -> None:
        """values = change(values, number)."""
        whole, rest = num_columns // 16 * 16, num_columns % 16
        lanes = broadcast(np.float32(number))
        for column in range(0, whole, 16):
            store(values, start + column, change(load(values, start + column), lanes))
        if rest:
            store_first(values, start + whole, change(load_first(values, start + whole, rest), lanes), rest)

    return change_row


scale_row = _make_change(_scaled)
softcap_row = _make_change(_softcapped)


@internal(error_model="numpy")
def mean_of_squares(values: Any, start: int, num_columns: int) -> Any:
    """The mean of the squares of `num_columns` values."""
    # Four sums, because one would wait for each multiply-add.
    fours, whole, rest = num_columns // 64 * 64, num_columns // 16 * 16, num_columns % 16
    squares = second = third = fourth = broadcast(np.float32(0))
    for column in range(start, start + fours, 64):
        a, b = load(values, column), load(values, column + 16)
        c, d = load(values, column + 32), load(values, column + 48)
        squares, second = fma(a, a, squares), fma(b, b, second)
        third, fourth = fma(c, c, third), fma(d, d, fourth)
    squares = (squares + second) + (third + fourth)
    for column in range(fours, whole, 16):
        part = load(values, start + column)
        squares = fma(part, part, squares)
    if rest:
        part = load_first(values, start + whole, rest)
        squares = fma(part, part, squares)
    return sum_of_lanes(squares) / np.float32(num_columns)


@internal(error_model="numpy")
def _inverse_rms(values: Any, start: int, num_columns: int, epsilon: float) -> Any:
    mean = mean_of_squares(values, start, num_columns)
    return np.float32(1) / np.float32(math.sqrt(mean + np.float32(epsilon)))


@internal(error_model="numpy")
def whole_and_rest(num_columns: int, last: int) -> Any:
    """The end of the whole vectors of a slice that ends at `last`, and the number of columns after them."""
    stop = min(num_columns, last)
    return stop // 16 * 16, stop % 16


@internal(error_model="numpy")
def clear_padding(out: Any, start: int, num_columns: int, last: int) -> None:
    """Write zeros after the last vector of sixteen, up to the row's padded width, if the slice reaches it."""
    width = -(-num_columns // WIDTH_MULTIPLE) * WIDTH_MULTIPLE
    if last < width:
        return
    for column in range(-(-num_columns // 16) * 16, width, 16):
        store(out, start + column, broadcast(np.float32(0)))

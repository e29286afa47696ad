"""Operations on heads of single rows around recurrences and gated attention: norms, gates, strengths."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cactus_actors.workers.kernels.internal import internal
from cactus_actors.workers.kernels.row_kernels import norm_head, sigmoid, silu
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

UNIT_EPSILON = 1e-6


@internal(error_model="numpy")
def unit_head(values: Any, start: int, head_dim: int) -> None:
    """values / sqrt(sum of squares + UNIT_EPSILON), in place."""
    whole, rest = head_dim // 16 * 16, head_dim % 16
    squares = broadcast(np.float32(0))
    for column in range(0, whole, 16):
        part = load(values, start + column)
        squares = fma(part, part, squares)
    if rest:
        part = load_first(values, start + whole, rest)
        squares = fma(part, part, squares)
    length = np.float32(math.sqrt(sum_of_lanes(squares) + np.float32(UNIT_EPSILON)))
    scale = broadcast(np.float32(1) / length)
    for column in range(0, whole, 16):
        store(values, start + column, load(values, start + column) * scale)
    if rest:
        store_first(values, start + whole, load_first(values, start + whole, rest) * scale, rest)


@internal(error_model="numpy")
def silu_gate(values: Any, start: int, gate: Any, gate_start: int, num_columns: int) -> None:
    """values *= silu(gate)."""
    whole, rest = num_columns // 16 * 16, num_columns % 16
    for column in range(0, whole, 16):
        store(values, start + column, load(values, start + column) * silu(load(gate, gate_start + column)))
    if rest:
        factor = silu(load_first(gate, gate_start + whole, rest))
        store_first(values, start + whole, load_first(values, start + whole, rest) * factor, rest)


@internal(error_model="numpy")
def gated_norm_head(
    values: Any, start: int, gains: Any, gains_start: int, gate: Any, gate_start: int, head_dim: int, epsilon: float
) -> None:
    """`rms_norm` of one head times silu(gate), in place between its neighbours."""
    norm_head(values, start, gains, gains_start, head_dim, epsilon)
    silu_gate(values, start, gate, gate_start, head_dim)


@internal(error_model="numpy")
def norm_gated_head(
    values: Any, start: int, gains: Any, gains_start: int, gate: Any, gate_start: int, head_dim: int, epsilon: float
) -> None:
    """`rms_norm` of one head times silu(gate), the gate first, in place between its neighbours."""
    silu_gate(values, start, gate, gate_start, head_dim)
    norm_head(values, start, gains, gains_start, head_dim, epsilon)


@internal(error_model="numpy")
def sigmoid_gate(values: Any, start: int, gate: Any, gate_start: int, num_columns: int) -> None:
    """values *= sigmoid(gate)."""
    whole, rest = num_columns // 16 * 16, num_columns % 16
    for column in range(0, whole, 16):
        store(values, start + column, load(values, start + column) * sigmoid(load(gate, gate_start + column)))
    if rest:
        factor = sigmoid(load_first(gate, gate_start + whole, rest))
        store_first(values, start + whole, load_first(values, start + whole, rest) * factor, rest)


@internal(error_model="numpy")
def delta_gates(
    given: Any, start: int, vectors: Any, vectors_start: int, num_heads: int, out: Any, out_start: int
) -> None:
    """The strengths sigmoid(b) of all heads, then the decays exp(-exp(A) softplus(a + bias)).

    `given` holds b and a of all heads, the vectors A and the bias, side by side without padding.
    """
    for head in range(0, num_heads, 16):
        count = min(16, num_heads - head)
        store_first(out, out_start + head, sigmoid(load_first(given, start + head, count)), count)
        rate = exponential(load_first(vectors, vectors_start + head, count))
        bias = load_first(vectors, vectors_start + num_heads + head, count)
        step = softplus(load_first(given, start + num_heads + head, count) + bias)
        decay = exponential(broadcast(np.float32(0)) - rate * step)
        store_first(out, out_start + num_heads + head, decay, count)


@internal(error_model="numpy")
def scan_gates(
    given: Any, start: int, vectors: Any, vectors_start: int, num_heads: int, out: Any, out_start: int
) -> None:
    """The steps softplus(given + bias) of all heads, then the decays exp(-exp(A) step).

    The vectors are A and the bias, side by side without padding.
    """
    for head in range(0, num_heads, 16):
        count = min(16, num_heads - head)
        rate = exponential(load_first(vectors, vectors_start + head, count))
        bias = load_first(vectors, vectors_start + num_heads + head, count)
        step = softplus(load_first(given, start + head, count) + bias)
        store_first(out, out_start + head, step, count)
        decay = exponential(broadcast(np.float32(0)) - rate * step)
        store_first(out, out_start + num_heads + head, decay, count)


@internal(error_model="numpy")
def softplus(x: Any) -> Any:
    """log(1 + e^x) = max(x, 0) + log1p(e^-|x|), within 3 units in the last place.

    log1p(t) = 2 artanh(s) with s = t / (2 + t) <= 1/3, whose series ends below the precision.
    """
    one, two, zero = broadcast(np.float32(1)), broadcast(np.float32(2)), broadcast(np.float32(0))
    t = exponential(zero - absolute(x))
    s = divide(t, two + t)
    square = s * s
    series = broadcast(np.float32(1 / 15))
    series = fma(series, square, broadcast(np.float32(1 / 13)))
    series = fma(series, square, broadcast(np.float32(1 / 11)))
    series = fma(series, square, broadcast(np.float32(1 / 9)))
    series = fma(series, square, broadcast(np.float32(1 / 7)))
    series = fma(series, square, broadcast(np.float32(1 / 5)))
    series = fma(series, square, broadcast(np.float32(1 / 3)))
    series = fma(series, square, one)
    return maximum(x, zero) + two * s * series

# ruff: noqa: ARG001 - numba matches arguments by the names of all parameters, used or not
"""Products of rows with the thin matrices of adapters (Hu et al. 2021): few outputs, or few inputs.

A packed matrix is blocks of 16 outputs, a block is pairs of inputs. A pair is 32 float32, the 16 weights of the
first input and those of the second, or 16 words of two bfloat16 each, the first input in the lower half. Starts
and sizes are in elements of the array, float32 or uint32, multiples of 16.

An element of a product is the sum of two chains of multiply-adds, over even and over odd inputs. Its bits depend
neither on the number of rows nor on the blocks that are computed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numpy.typing import NDArray

from cactus_actors.workers.kernels.aligned_memory import round_up
from cactus_actors.workers.kernels.float_formats import _as_bfloat16
from cactus_actors.workers.kernels.internal import internal
from cactus_actors.workers.kernels.simd import (
    FLOATS,
    INTEGERS,
    address,
    broadcast,
    constant,
    fma,
    index,
    load,
    primitive,
    spread,
    store,
    vector,
)

OUTPUTS = 16
"""Outputs of a block."""

ROWS_OF_TILE = 4
"""Rows that are multiplied together, so that a weight is loaded once for all of them."""


def pack_thin(weights: NDArray[np.float32], *, is_bfloat: bool) -> NDArray[Any]:
    """A matrix, (outputs, inputs), as packed blocks, flat; outputs and inputs are padded with zeros."""
    num_outputs, num_inputs = weights.shape
    padded = np.zeros((round_up(num_outputs, OUTPUTS), round_up(num_inputs, 2)), np.float32)
    padded[:num_outputs, :num_inputs] = weights
    pairs = padded.reshape(-1, OUTPUTS, padded.shape[1] // 2, 2)  # (blocks, outputs, pairs, inputs)
    if is_bfloat:
        return np.ascontiguousarray(_as_bfloat16(pairs).swapaxes(1, 2)).view(np.uint32).reshape(-1)
    return np.ascontiguousarray(pairs.transpose(0, 2, 3, 1)).reshape(-1)


@primitive
def elements_of_pair(typing: Any, data: Any) -> Any:
    """Elements of an array of packed blocks from one pair of inputs to the next."""
    count = OUTPUTS if data.dtype == types.uint32 else 2 * OUTPUTS

    def generate(context: Any, builder: ir.IRBuilder, _sig: Any, values: Any) -> ir.Value:
        return index(count)

    return types.int64(data), generate


@primitive
def weights_of_first(typing: Any, data: Any, start: Any) -> Any:
    """The 16 weights of the first input of a pair."""

    def generate(context: Any, builder: ir.IRBuilder, _sig: Any, values: Any) -> ir.Value:
        if data.dtype == types.uint32:
            words = builder.load(address(context, builder, data, values[0], values[1], INTEGERS), align=4)
            return builder.bitcast(builder.shl(words, constant(INTEGERS, 16)), FLOATS)
        return builder.load(address(context, builder, data, values[0], values[1], FLOATS), align=4)

    return vector(data, types.intp), generate


@primitive
def weights_of_second(typing: Any, data: Any, start: Any) -> Any:
    """The 16 weights of the second input of a pair."""

    def generate(context: Any, builder: ir.IRBuilder, _sig: Any, values: Any) -> ir.Value:
        if data.dtype == types.uint32:
            words = builder.load(address(context, builder, data, values[0], values[1], INTEGERS), align=4)
            return builder.bitcast(builder.and_(words, constant(INTEGERS, 0xFFFF0000)), FLOATS)
        second = builder.add(values[1], index(OUTPUTS))
        return builder.load(address(context, builder, data, values[0], second, FLOATS), align=4)

    return vector(data, types.intp), generate


@internal(error_model="numpy")
def multiply_thin(
    data: Any,
    start: int,
    num_pairs: int,
    source: Any,
    source_start: int,
    source_width: int,
    out: Any,
    out_start: int,
    out_width: int,
    num_rows: int,
    accumulate: bool,
) -> None:
    """The product of at most ROWS_OF_TILE rows with one block: 16 columns of `out`, or added to them.

    Rows have 2 * `num_pairs` inputs from `source_start` on, zeros after the last.
    """
    if num_rows == ROWS_OF_TILE:
        _multiply_tile(
            data, start, num_pairs, source, source_start, source_width, out, out_start, out_width, accumulate
        )
        return
    for row in range(num_rows):
        _multiply_row(
            data,
            start,
            num_pairs,
            source,
            source_start + row * source_width,
            out,
            out_start + row * out_width,
            accumulate,
        )


@internal(error_model="numpy")
def _multiply_row(
    data: Any,
    start: int,
    num_pairs: int,
    source: Any,
    source_start: int,
    out: Any,
    out_start: int,
    accumulate: bool,
) -> None:
    even = odd = broadcast(np.float32(0))
    size = elements_of_pair(data)
    for pair in range(num_pairs):
        weights, inputs = start + pair * size, source_start + 2 * pair
        even = fma(spread(source, inputs), weights_of_first(data, weights), even)
        odd = fma(spread(source, inputs + 1), weights_of_second(data, weights), odd)
    _write(out, out_start, even + odd, accumulate)


@internal(error_model="numpy")
def _multiply_tile(
    data: Any,
    start: int,
    num_pairs: int,
    source: Any,
    source_start: int,
    source_width: int,
    out: Any,
    out_start: int,
    out_width: int,
    accumulate: bool,
) -> None:
    """`_multiply_row` of ROWS_OF_TILE rows, each in the same order of sums."""
    even_a = even_b = even_c = even_d = broadcast(np.float32(0))
    odd_a = odd_b = odd_c = odd_d = broadcast(np.float32(0))
    size = elements_of_pair(data)
    for pair in range(num_pairs):
        weights, a = start + pair * size, source_start + 2 * pair
        b, c, d = a + source_width, a + 2 * source_width, a + 3 * source_width
        first, second = weights_of_first(data, weights), weights_of_second(data, weights)
        even_a = fma(spread(source, a), first, even_a)
        even_b = fma(spread(source, b), first, even_b)
        even_c = fma(spread(source, c), first, even_c)
        even_d = fma(spread(source, d), first, even_d)
        odd_a = fma(spread(source, a + 1), second, odd_a)
        odd_b = fma(spread(source, b + 1), second, odd_b)
        odd_c = fma(spread(source, c + 1), second, odd_c)
        odd_d = fma(spread(source, d + 1), second, odd_d)
    _write(out, out_start, even_a + odd_a, accumulate)
    _write(out, out_start + out_width, even_b + odd_b, accumulate)
    _write(out, out_start + 2 * out_width, even_c + odd_c, accumulate)
    _write(out, out_start + 3 * out_width, even_d + odd_d, accumulate)


@internal(error_model="numpy", inline="always")
def _write(out: Any, start: int, total: Any, accumulate: bool) -> None:
    if accumulate:
        store(out, start, load(out, start) + total)
    else:
        store(out, start, total)

"""Weights as float32: tiles of up to 8 rows by 32 columns, reduced over k = 0, 1, 2, ... by fused steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload
from numpy.typing import NDArray

from workers.kernels import matrix as weights
from workers.kernels.memory import aligned_zeros, round_up
from workers.kernels.vectors import F32, address, constant, load, multiply_add, splat, store

COLUMNS = 32
DEPTH = 4  # k is padded to a multiple of this and the tile unrolls by it


class Float32Matrix(NamedTuple):
    """Stacked weights (num_rows, num_columns), 32 rows of a weight side by side."""

    values: NDArray[np.float32]  # (layers, blocks of 32 weight rows, columns, 32)


class Float32Rows(NamedTuple):
    """What the matrix multiplies, as it is."""

    values: NDArray[np.float32]  # (max rows, columns)


class Float32Format:
    """Weights as they come."""

    name = "float32"
    kernels = "float32x16"

    def empty_matrix(self, num_layers: int, num_rows: int, num_columns: int) -> Float32Matrix:
        blocks, depth = round_up(num_rows, COLUMNS) // COLUMNS, round_up(num_columns, 16)
        return Float32Matrix(aligned_zeros((num_layers, blocks, depth, COLUMNS), np.float32))

    def fill(self, matrix: Float32Matrix, layer: int, weights: NDArray[np.float32]) -> None:
        num_rows, num_columns = weights.shape
        for block, target in enumerate(matrix.values[layer]):
            part = weights[block * COLUMNS : min((block + 1) * COLUMNS, num_rows)]
            target[:num_columns, : len(part)] = part.T

    def empty_rows(self, max_rows: int, num_columns: int) -> Float32Rows:
        return Float32Rows(aligned_zeros((max_rows, round_up(num_columns, 16)), np.float32))


def _make_tile(height: int) -> Callable[..., None]:
    @intrinsic
    def tile(
        typing: Any, rows: Any, row: Any, values: Any, block: Any, depth: Any, out: Any, out_at: Any, add: Any
    ) -> Any:
        """`height` rows of the product by 32 columns; each element is one chain of fused multiply-adds."""

        def generate(context: Any, builder: ir.IRBuilder, _sig: Any, given: Any) -> ir.Value:
            rows_value, row, values_value, block, depth, out_value, out_at, add = given
            wide = ir.VectorType(F32, COLUMNS)
            columns = context.get_constant(types.intp, COLUMNS)
            inputs = address(context, builder, rows, rows_value, builder.mul(row, depth), F32)
            weight = builder.mul(builder.mul(block, depth), columns)
            weight = address(context, builder, values, values_value, weight, F32)
            sums = [cgutils.alloca_once_value(builder, constant(wide, 0.0)) for _ in range(height)]
            start, step = context.get_constant(types.intp, 0), context.get_constant(types.intp, DEPTH)
            with cgutils.for_range_slice(builder, start, depth, step, intp=depth.type) as (first, _):
                for offset in range(DEPTH):
                    k = builder.add(first, context.get_constant(types.intp, offset))
                    lanes = builder.gep(weight, [builder.mul(k, columns)])
                    lanes = builder.load(builder.bitcast(lanes, wide.as_pointer()), align=64)
                    for index, total in enumerate(sums):
                        at = builder.add(k, builder.mul(depth, context.get_constant(types.intp, index)))
                        factor = splat(builder, builder.load(builder.gep(inputs, [at])), COLUMNS)
                        builder.store(multiply_add(builder, factor, lanes, builder.load(total)), total)
            store_tile(context, builder, out, out_value, out_at, add, [builder.load(total) for total in sums])
            return context.get_dummy_value()

        integers = [types.intp] * 2
        return (
            types.void(rows, types.intp, values, *integers, out, types.intp, types.boolean),
            generate,
        )

    return tile


def store_tile(
    context: Any,
    builder: ir.IRBuilder,
    out_type: Any,
    out: ir.Value,
    offset: ir.Value,
    accumulate: ir.Value,
    results: list[ir.Value],
) -> None:
    """Write one vector of results a row below each other, added to what stands there with `accumulate`."""
    wide = results[0].type
    width = builder.extract_value(context.make_array(out_type)(context, builder, out).shape, 1)
    start = address(context, builder, out_type, out, offset, F32)
    for index, result in enumerate(results):
        below = builder.mul(width, ir.Constant(width.type, index))
        target = builder.bitcast(builder.gep(start, [below]), wide.as_pointer())
        before = builder.select(accumulate, builder.load(target, align=4), constant(wide, 0.0))
        builder.store(builder.fadd(before, result), target, align=4)


_tile_8, _tile_4, _tile_2, _tile_1 = (_make_tile(height) for height in (8, 4, 2, 1))


@overload(weights.matmul, jit_options={"error_model": "numpy"})
def _choose_matmul(
    rows: Any, num_rows: int, matrix: Any, layer: int, out: Any, accumulate: bool, rank: int, size: int
) -> Any:
    return _matmul if weights.is_any(matrix, Float32Matrix) else None


def _matmul(
    rows: Any, num_rows: int, matrix: Any, layer: int, out: Any, accumulate: bool, rank: int, size: int
) -> None:
    inputs, values = rows.values, matrix.values
    blocks, depth, width = values.shape[1], values.shape[2], out.shape[1]
    for block in range(blocks * rank // size, blocks * (rank + 1) // size):
        packed, column = layer * blocks + block, block * 32
        row = 0
        while num_rows - row >= 8:
            _tile_8(inputs, row, values, packed, depth, out, row * width + column, accumulate)
            row += 8
        if num_rows - row >= 4:
            _tile_4(inputs, row, values, packed, depth, out, row * width + column, accumulate)
            row += 4
        if num_rows - row >= 2:
            _tile_2(inputs, row, values, packed, depth, out, row * width + column, accumulate)
            row += 2
        if num_rows > row:
            _tile_1(inputs, row, values, packed, depth, out, row * width + column, accumulate)


@overload(weights.encode_row)
def _choose_encode_row(matrix: Any, rows: Any, row: int, source: Any, source_row: int) -> Any:
    return _encode_row if weights.is_any(matrix, Float32Matrix) else None


def _encode_row(matrix: Any, rows: Any, row: int, source: Any, source_row: int) -> None:
    values = rows.values
    depth, width = values.shape[1], source.shape[1]
    for k in range(0, depth, 16):
        store(values, row * depth + k, load(source, source_row * width + k))


@overload(weights.decode_weights)
def _choose_decode_weights(matrix: Any, index: int, out: Any, out_row: int) -> Any:
    return _decode_weights if weights.is_any(matrix, Float32Matrix) else None


def _decode_weights(matrix: Any, index: int, out: Any, out_row: int) -> None:
    values = matrix.values
    for k in range(values.shape[2]):
        out[out_row, k] = values[0, index // 32, k, index % 32]

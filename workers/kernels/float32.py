# ruff: noqa: ARG001 - numba matches arguments by the names of all parameters, used or not
"""Weights as float32: 32 columns a tile, an element is one chain of multiply-adds over k = 0, 1, 2, ..."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba.extending import overload
from numpy.typing import NDArray

from workers.kernels import matrix as operations
from workers.kernels.memory import aligned_zeros, round_up
from workers.kernels.tiles import Operand, counted, index, make_matmul, variables
from workers.kernels.vectors import F32, constant, load, multiply_add, splat, store

COLUMNS = 32
UNROLL = 4  # divides the padding of k


class Float32Matrix(NamedTuple):
    """Stacked weights; a block is 32 rows of a weight side by side."""

    values: NDArray[np.float32]  # (layers, blocks, columns, 32)


class Float32Rows(NamedTuple):
    """What the matrix multiplies, as it is."""

    values: NDArray[np.float32]  # (rows, columns)


@dataclass(frozen=True)
class Float32Format:
    """Weights as they come."""

    kernels: str
    name: str = "float32"

    def empty_matrix(self, num_layers: int, num_rows: int, num_columns: int) -> Float32Matrix:
        """Zeros, padded to whole blocks and vectors."""
        num_blocks, depth = round_up(num_rows, COLUMNS) // COLUMNS, round_up(num_columns, 16)
        return Float32Matrix(aligned_zeros((num_layers, num_blocks, depth, COLUMNS), np.float32))

    def fill(self, matrix: Float32Matrix, layer: int, weights: NDArray[np.float32]) -> None:
        """Transpose blocks of 32 weight rows."""
        num_rows, num_columns = weights.shape
        for block, target in enumerate(matrix.values[layer]):
            part = weights[block * COLUMNS : min((block + 1) * COLUMNS, num_rows)]
            target[:num_columns, : len(part)] = part.T

    def empty_rows(self, max_rows: int, num_columns: int) -> Float32Rows:
        """Zeros, as wide as the matrix is deep."""
        return Float32Rows(aligned_zeros((max_rows, round_up(num_columns, 16)), np.float32))


def _reduce(
    builder: ir.IRBuilder, height: int, rows: Operand, row: ir.Value, matrix: Operand, block: ir.Value
) -> list[ir.Value]:
    wide = ir.VectorType(F32, COLUMNS)
    depth = matrix.extent("values", 2)
    inputs = rows.pointer("values", builder.mul(row, depth), F32)
    weights = matrix.pointer("values", builder.mul(builder.mul(block, depth), index(COLUMNS)), F32)
    sums = variables(builder, constant(wide, 0.0), height)
    with counted(builder, depth, UNROLL) as (first, _):
        for offset in range(UNROLL):
            k = builder.add(first, index(offset))
            lanes = builder.gep(weights, [builder.mul(k, index(COLUMNS))])
            lanes = builder.load(builder.bitcast(lanes, wide.as_pointer()), align=64)
            for below, total in enumerate(sums):
                at = builder.add(k, builder.mul(depth, index(below)))
                factor = splat(builder, builder.load(builder.gep(inputs, [at])), COLUMNS)
                builder.store(multiply_add(builder, factor, lanes, builder.load(total)), total)
    return [builder.load(total) for total in sums]


_matmul = make_matmul(_reduce, COLUMNS)


@overload(operations.matmul, jit_options={"error_model": "numpy"})
def _choose_matmul(
    rows: Any, num_rows: int, matrix: Any, layer: int, out: Any, accumulate: bool, rank: int, size: int
) -> Any:
    return _matmul if operations.is_a(matrix, Float32Matrix) else None


@overload(operations.encode_row, jit_options={"error_model": "numpy"})
def _choose_encode_row(matrix: Any, rows: Any, row: int, source: Any, source_row: int) -> Any:
    return _encode_row if operations.is_a(matrix, Float32Matrix) else None


def _encode_row(matrix: Any, rows: Any, row: int, source: Any, source_row: int) -> None:
    values = rows.values
    depth, width = values.shape[1], source.shape[1]
    for k in range(0, depth, 16):
        store(values, row * depth + k, load(source, source_row * width + k))


@overload(operations.decode_weights, jit_options={"error_model": "numpy"})
def _choose_decode_weights(matrix: Any, index: int, out: Any, out_row: int) -> Any:
    return _decode_weights if operations.is_a(matrix, Float32Matrix) else None


def _decode_weights(matrix: Any, index: int, out: Any, out_row: int) -> None:
    values = matrix.values
    for k in range(values.shape[2]):
        out[out_row, k] = values[0, index // 32, k, index % 32]
    # A tile writes whole blocks of columns: what it left behind a row that was not finite must not stay.
    for k in range(values.shape[2], out.shape[1]):
        out[out_row, k] = 0

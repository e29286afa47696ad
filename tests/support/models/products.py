"""Products of packed weights with rows of floats."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cactus_actors.workers.kernels.aligned_memory import aligned_zeros, round_up
from cactus_actors.workers.kernels.matrix import WIDTH_MULTIPLE, Matrix, PackedFormat, encode_row, matmul, num_blocks
from tests.support.models.for_python import kept_njit


@kept_njit()
def _multiply(
    weights: Any,
    matrix: Matrix,
    rows: Any,
    source: Any,
    num_rows: int,
    out: Any,
    width: int,
    accumulate: bool,
    ranks: int,
    pieces: int,
) -> None:
    stride = len(source) // num_rows
    for row in range(num_rows):
        for piece in range(pieces):
            first, last = stride // 64 * piece // pieces * 64, stride // 64 * (piece + 1) // pieces * 64
            start = row * stride
            encode_row(weights, rows, 64, num_rows, row, matrix.num_columns, source, start, first, last)
    blocks = num_blocks(weights, matrix)
    for rank in range(ranks):
        first, last = blocks * rank // ranks, blocks * (rank + 1) // ranks
        matmul(weights, matrix, rows, 64, 0, num_rows, out, 16, width, accumulate, first, last)


def packed(chosen: PackedFormat, weights: NDArray[np.float32]) -> tuple[Any, Matrix]:
    """The arena and the matrix of these weights, behind another matrix."""
    other = np.ones((16, 16), dtype=np.float32)
    start = chosen.num_bytes(*other.shape)
    arena = aligned_zeros((start + chosen.num_bytes(*weights.shape),), np.uint8)
    arena[:] = 171  # the previous contents of memory must not matter
    chosen.pack(other, arena[:start])
    chosen.pack(weights, arena[start:])
    return chosen.wrap(arena), Matrix(start, *weights.shape)


def multiply(
    chosen: PackedFormat,
    weights: NDArray[np.float32],
    source: NDArray[np.float32],
    *,
    out: NDArray[np.float32] | None = None,
    ranks: int = 1,
    pieces: int = 1,
) -> NDArray[np.float32]:
    """`source @ weights.T`, added to `out` if there is one."""
    (num_rows, num_columns), count = weights.shape, len(source)
    depth, width = round_up(num_columns, WIDTH_MULTIPLE), round_up(num_rows, WIDTH_MULTIPLE)
    padded = aligned_zeros((count, depth), np.float32)
    padded[:, :num_columns] = source
    result = aligned_zeros((16 + count * width,), np.float32)
    rows = aligned_zeros((64 + count * chosen.row_bytes(num_columns),), np.uint8)
    product = result[16:].reshape(count, width)
    if out is not None:
        product[:, :num_rows] = out
    arena, matrix = packed(chosen, weights)
    source, accumulate = padded.reshape(-1), out is not None
    _multiply(arena, matrix, rows, source, count, result, width, accumulate, ranks, pieces)
    assert (result[:16] == 0).all()
    return product[:, :num_rows]


@cache
def operands(num_rows: int, num_columns: int, count: int = 35) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Random weights, (num_rows, num_columns), and `count` rows to multiply."""
    generator = np.random.default_rng([num_rows, num_columns])
    weights = generator.standard_normal((num_rows, num_columns), dtype=np.float32)
    return weights, generator.standard_normal((count, num_columns), dtype=np.float32)

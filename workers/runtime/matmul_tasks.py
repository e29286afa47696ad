"""Products of rows and weights: all rows, partitioned by columns, or some rows alone."""

from __future__ import annotations

from typing import Any

from cactus_actors.workers.kernels.barrier import next_task
from cactus_actors.workers.kernels.internal import internal
from cactus_actors.workers.kernels.matrix import Matrix, matmul, num_blocks
from cactus_actors.workers.runtime.step_arguments import PackedWeights, Workspace

PIECES = 4
"""Pieces of a thread's share of a matrix: a delayed thread leaves pieces to the others."""

BLOCKS_TOGETHER = 2
"""Blocks of a tile, at most: pieces are cut at multiples of it."""


@internal(error_model="numpy", inline="always")
def multiply(
    op: Any,
    index: int,
    weights: PackedWeights,
    work: Workspace,
    first: int,
    last: int,
    is_shared: bool,
    share: int,
    size: int,
) -> None:
    """Multiply rows, `first` to before `last`, with all of the weight, or a share of the product."""
    if op.is_head:
        _multiply(op, index, weights.head, work, first, last, is_shared, share, size)
    else:
        _multiply(op, index, weights.body, work, first, last, is_shared, share, size)


@internal(error_model="numpy")
def _multiply(
    op: Any,
    index: int,
    arena: Any,
    work: Workspace,
    first: int,
    last: int,
    is_shared: bool,
    share: int,
    size: int,
) -> None:
    """Run the pieces of a share of a shared product, then pieces left by others."""
    matrix = Matrix(op.start, op.num_rows, op.num_columns)
    blocks = num_blocks(arena, matrix)
    shares, pieces = (size, PIECES) if is_shared else (1, 1)
    for victim in range(shares):
        owner, piece = (share + victim) % shares, 0
        while True:
            if is_shared:
                piece = next_task(work.tasks, index * size + owner)
            if piece >= pieces:
                break
            matmul(
                arena,
                matrix,
                work.encoded,
                work.starts[op.source],
                first,
                last,
                work.floats,
                work.starts[op.target],
                op.target_width,
                op.flag != 0,
                _first_block(blocks, owner * pieces + piece, shares * pieces),
                _first_block(blocks, owner * pieces + piece + 1, shares * pieces),
            )
            piece += 1


@internal(error_model="numpy", inline="always")
def _first_block(blocks: int, piece: int, pieces: int) -> int:
    """The first block of a piece."""
    return min(blocks, -(-blocks // BLOCKS_TOGETHER) * piece // pieces * BLOCKS_TOGETHER)

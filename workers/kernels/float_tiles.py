# ruff: noqa: ARG001 - numba matches arguments by the names of all parameters, used or not
"""Tiles of float32 rows and of weights that become float32 when they are loaded.

An element of the product is one chain of multiply-adds over k = 0, 1, 2, ... A group of a tile of h rows
is [inputs][h rows] as float32.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from cactus_actors.workers.kernels.byte_access import store_float
from cactus_actors.workers.kernels.matrix import BlockLayout
from cactus_actors.workers.kernels.simd import F32, FLOATS, I8, constant, index, multiply_add, splat
from cactus_actors.workers.kernels.tiles import Reduce, at, counted, fetch_ahead, make_find_tile, variables

UNROLL = 4  # divides the inputs of a group

LoadWeights = Callable[[ir.IRBuilder, ir.Value, int], list[ir.Value]]
"""(builder, a block's weights from some k on, count) -> the weights of `count` inputs, <16 x float> each."""


def make_float_reduce(layout: BlockLayout, load_weights: LoadWeights) -> Reduce:
    """Tiles whose weights are loaded so."""

    def reduce(
        builder: ir.IRBuilder,
        height: int,
        blocks: list[ir.Value],
        rows: ir.Value,
        num_groups: ir.Value,
        ahead: ir.Value | None,
    ) -> list[list[ir.Value]]:
        totals = [variables(builder, constant(FLOATS, 0.0), len(blocks)) for _ in range(height)]
        with counted(builder, builder.mul(num_groups, index(layout.inputs)), UNROLL) as (first, _):
            inputs = at(builder, rows, builder.mul(first, index(4 * height)), I8)
            offset = builder.mul(first, index(layout.group_bytes // layout.inputs))
            first_group = at(builder, blocks[0], offset, I8)
            fetch_ahead(builder, first_group, ahead, UNROLL * layout.group_bytes // layout.inputs)
            weights = [load_weights(builder, at(builder, block, offset, I8), UNROLL) for block in blocks]
            for k in range(UNROLL):
                for row in range(height):
                    factor = builder.load(at(builder, inputs, 4 * (k * height + row), F32), align=4)
                    factor = splat(builder, factor, layout.outputs)
                    for total, lanes in zip(totals[row], weights, strict=True):
                        builder.store(multiply_add(builder, factor, lanes[k], builder.load(total)), total)
        return [[builder.load(total) for total in row] for row in totals]

    return reduce


def make_encode_row(layout: BlockLayout, max_height: int) -> Callable[..., None]:
    """An implementation of `encode_row` for rows that stay float32."""
    find_tile = make_find_tile(max_height)
    inputs, row_group_bytes = layout.inputs, layout.row_group_bytes

    def encode_row(
        weights: Any,
        rows: Any,
        rows_start: int,
        num_rows: int,
        row: int,
        num_columns: int,
        source: Any,
        source_start: int,
        first: int,
        last: int,
    ) -> None:
        num_groups = (num_columns + inputs - 1) // inputs
        top, height = find_tile(row, num_rows)
        write = rows_start + top * num_groups * row_group_bytes + 4 * (row - top)
        for k in range(first, min(last, num_groups * inputs)):
            store_float(rows, write + 4 * k * height, source[source_start + k])

    return encode_row

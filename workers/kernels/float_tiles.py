"""Tiles of float32 rows and of weights that become float32 when they are loaded.

An element of the product is one chain of multiply-adds over k = 0, 1, 2, ... A group of a tile of h rows
is [inputs][h rows] as float32.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.extending import register_jitable

from cactus_actors.workers.kernels.byte_access import store_float
from cactus_actors.workers.kernels.llvm_loops import counted, variables
from cactus_actors.workers.kernels.matrix import BlockLayout
from cactus_actors.workers.kernels.simd import F32, FLOATS, I8, constant, index, multiply_add, splat
from cactus_actors.workers.kernels.tiles import Reduce, at, fetch_ahead

INPUTS = 16  # of a group
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
        totals = [variables(builder, [constant(FLOATS, 0.0)] * len(blocks)) for _ in range(height)]
        stop = builder.mul(num_groups, index(layout.inputs))
        with counted(builder, index(0), stop, UNROLL) as (first, _):
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


@register_jitable(inline="always")
def write_group(rows: Any, start: int, place: int, height: int, source: Any, read: int) -> None:
    """A group of a row, as float32."""
    for k in range(INPUTS):
        store_float(rows, start + 4 * (place + k * height), source[read + k])

# ruff: noqa: ARG001 - numba matches arguments by the names of all parameters, used or not
"""Matrix products made of tiles: some rows by some blocks of columns, kept in registers while k runs.

A format emits the reduction of its tile as LLVM IR; the loops over rows and columns are shared.
Rows that share a tile are interleaved group by group, so that a tile reads them through one pointer.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Any

from llvmlite import ir
from numba import types

from cactus_actors.workers.kernels.aligned_memory import CACHE_LINE
from cactus_actors.workers.kernels.instruction_sets import InstructionSet
from cactus_actors.workers.kernels.matrix import BlockLayout
from cactus_actors.workers.kernels.simd import (
    F32,
    I8,
    address,
    constant,
    index,
    prefetch,
    prefetch_for_write,
    primitive,
)


def at(builder: ir.IRBuilder, start: ir.Value, offset: ir.Value | int, to: ir.Type) -> ir.Value:
    """`start`, a pointer to bytes, moved by a number of bytes, as a pointer to `to`."""
    offset = index(offset) if isinstance(offset, int) else offset
    return builder.bitcast(builder.gep(start, [offset]), to.as_pointer())


Reduce = Callable[[ir.IRBuilder, int, list[ir.Value], ir.Value, ir.Value, ir.Value | None], list[list[ir.Value]]]
"""(builder, height, each block's weights, rows, number of groups, ahead) -> vectors of results [row][block].

The order of reduction of a lane does not depend on the height, the row or the number of blocks. If `ahead` is
given, each group prefetches as many bytes as it has, `ahead` bytes after that of the first block.
"""


def fetch_ahead(builder: ir.IRBuilder, group: ir.Value, ahead: ir.Value | None, num_bytes: int) -> None:
    """Prefetch `num_bytes` that are `ahead` bytes after a group."""
    for line in range(0, num_bytes if ahead is not None else 0, CACHE_LINE):
        prefetch(builder, at(builder, group, builder.add(ahead, index(line)), I8))


def make_matmul(
    reduce: Reduce,
    layout: BlockLayout,
    instructions: InstructionSet,
    max_width: int = 2,
    ahead_of_lone_row: int = 0,
) -> Callable[..., None]:
    """An implementation of `matmul`: the highest tiles are the widest; the rest of the rows is one tile of one block.

    So the rest reads each weight once. Beside one whole tile it prefetches the next block. Without one, a single row
    prefetches weights `ahead_of_lone_row` bytes ahead, and two rows those that they read next; for more rows hardware
    prefetch is as fast.
    """
    max_height, width = instructions.max_height, min(instructions.max_width, max_width)
    outputs, inputs, group_bytes = layout.outputs, layout.inputs, layout.group_bytes
    row_group_bytes, header_bytes = layout.row_group_bytes, layout.header_bytes
    whole_wide, whole_narrow = (
        make_tile(reduce, layout, max_height, blocks, fetches_ahead=True) for blocks in (width, 1)
    )
    low = make_low_tile(reduce, layout, max_height, {1, 2} if ahead_of_lone_row else {2})
    low_beside_tile = make_low_tile(reduce, layout, max_height, range(1, max_height))

    def matmul(
        weights: Any,
        matrix: Any,
        rows: Any,
        rows_start: int,
        first_row: int,
        last_row: int,
        out: Any,
        out_start: int,
        out_width: int,
        accumulate: bool,
        first_block: int,
        last_block: int,
    ) -> None:
        data, num_groups = weights.data, (matrix.num_columns + inputs - 1) // inputs
        row_bytes, block_bytes = num_groups * row_group_bytes, header_bytes + num_groups * group_bytes
        num_rows = last_row - first_row
        last_whole = first_row + num_rows // max_height * max_height
        # Each of the last tiles of a block fetches a block of those that come next: no more blocks than whole tiles.
        widest = 1 if num_rows < 2 * max_height else width
        block = first_block
        while block < last_block:
            num_blocks = widest if block + widest <= last_block else 1
            packed, column = matrix.start + block * block_bytes, out_start + block * outputs
            for row in range(first_row, last_whole, max_height):
                read, write = rows_start + row * row_bytes, column + row * out_width
                tiles_left = (last_whole - row) // max_height
                ahead = (2 * num_blocks - tiles_left) * block_bytes if tiles_left <= num_blocks else 0
                if num_blocks > 1:
                    whole_wide(data, packed, num_groups, rows, read, out, write, out_width, accumulate, ahead)
                else:
                    whole_narrow(data, packed, num_groups, rows, read, out, write, out_width, accumulate, ahead)
            for _ in range(num_blocks if last_whole < last_row else 0):
                read, write = rows_start + last_whole * row_bytes, column + last_whole * out_width
                height = last_row - last_whole
                if last_whole - first_row == max_height:
                    low_beside_tile(
                        data, packed, num_groups, rows, read, out, write, out_width, accumulate, block_bytes, height
                    )
                else:
                    ahead = ahead_of_lone_row if num_rows == 1 else 0
                    low(data, packed, num_groups, rows, read, out, write, out_width, accumulate, ahead, height)
                packed += block_bytes
                column += outputs
            block += num_blocks

    return matmul


def make_tile(
    reduce: Reduce, layout: BlockLayout, height: int, width: int, *, fetches_ahead: bool
) -> Callable[..., None]:
    """A tile of some rows and blocks, for `matmul`."""

    @primitive
    def tile(
        typing: Any,
        data: Any,
        start: Any,
        num_groups: Any,
        rows: Any,
        row: Any,
        out: Any,
        first: Any,
        stride: Any,
        add: Any,
        ahead: Any,
    ) -> Any:
        """Write (or `add`) `height` rows of `width` blocks of the product at a flat offset of `out`."""

        def generate(context: Any, builder: ir.IRBuilder, _sig: Any, given: Any) -> ir.Value:
            data_value, start, num_groups, rows_value, row, out_value, first, *others = given
            weights = address(context, builder, data, data_value, start, I8)
            inputs = address(context, builder, rows, rows_value, row, I8)
            target = address(context, builder, out, out_value, first, F32)
            _emit_tile(
                builder, reduce, layout, (height, width), fetches_ahead, weights, num_groups, inputs, target, others
            )
            return context.get_dummy_value()

        places = (data, types.intp, types.intp, rows, types.intp, out, types.intp, types.intp)
        return types.void(*places, types.boolean, types.intp), generate

    return tile


def make_low_tile(
    reduce: Reduce, layout: BlockLayout, max_height: int, fetching: Container[int]
) -> Callable[..., None]:
    """A tile of one block and fewer than `max_height` rows, the last argument, for `matmul`.

    Those heights that are in `fetching` prefetch.
    """

    @primitive
    def tile(
        typing: Any,
        data: Any,
        start: Any,
        num_groups: Any,
        rows: Any,
        row: Any,
        out: Any,
        first: Any,
        stride: Any,
        add: Any,
        ahead: Any,
        height: Any,
    ) -> Any:
        """Write (or `add`) `height` rows of a block of the product at a flat offset of `out`."""

        def generate(context: Any, builder: ir.IRBuilder, _sig: Any, given: Any) -> ir.Value:
            data_value, start, num_groups, rows_value, row, out_value, first, *others, height = given
            weights = address(context, builder, data, data_value, start, I8)
            inputs = address(context, builder, rows, rows_value, row, I8)
            target = address(context, builder, out, out_value, first, F32)
            for n in range(1, max_height):
                with builder.if_then(builder.icmp_signed("==", height, index(n))):
                    _emit_tile(
                        builder, reduce, layout, (n, 1), n in fetching, weights, num_groups, inputs, target, others
                    )
            return context.get_dummy_value()

        places = (data, types.intp, types.intp, rows, types.intp, out, types.intp, types.intp)
        return types.void(*places, types.boolean, types.intp, types.intp), generate

    return tile


def _emit_tile(
    builder: ir.IRBuilder,
    reduce: Reduce,
    layout: BlockLayout,
    shape: tuple[int, int],
    fetches_ahead: bool,
    weights: ir.Value,
    num_groups: ir.Value,
    inputs: ir.Value,
    target: ir.Value,
    others: list[ir.Value],
) -> None:
    """A tile of a shape, (rows, blocks); `others` are the product's stride, whether to add to it, and `ahead`."""
    height, width = shape
    stride, add, ahead = others
    block_bytes = builder.mul(num_groups, index(layout.group_bytes))
    block_bytes = builder.add(block_bytes, index(layout.header_bytes))
    blocks = [weights]
    while len(blocks) < width:
        blocks.append(builder.gep(blocks[-1], [block_bytes]))
    lines = [builder.gep(target, [builder.mul(stride, index(below))]) for below in range(height)]
    for line in lines if fetches_ahead else ():
        for block in range(width):
            prefetch_for_write(builder, builder.gep(line, [index(block * layout.outputs)]))
    results = reduce(builder, height, blocks, inputs, num_groups, ahead if fetches_ahead else None)
    for line, vectors in zip(lines, results, strict=True):
        for block, result in enumerate(vectors):
            here = builder.gep(line, [index(block * layout.outputs)])
            here = builder.bitcast(here, result.type.as_pointer())
            before = builder.select(add, builder.load(here, align=4), constant(result.type, 0.0))
            builder.store(builder.fadd(before, result), here, align=4)

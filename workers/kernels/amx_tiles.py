# ruff: noqa: ARG001 - numba matches arguments by the names of all parameters, used or not
"""Tiles of int8 rows and unsigned weights for Intel's AMX, which multiplies 16 or 8 rows by a block of weights at once.

It reads a group of both as they lie in memory. Its sums are integers, and what follows is computed as in
`integer_tiles`, so the results are equal to the bit. Source: Intel 64 and IA-32 Architectures Software Developer's
Manual, volume 1.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import register_jitable

from cactus_actors.workers.kernels.integer_tiles import IntegerWeights
from cactus_actors.workers.kernels.llvm_loops import counted, variables
from cactus_actors.workers.kernels.simd import (
    F32,
    FLOATS,
    I8,
    I32,
    INTEGERS,
    call,
    constant,
    index,
    multiply_add,
    primitive,
    splat,
)
from cactus_actors.workers.kernels.tiles import Reduce, at, fetch_ahead, make_tile

ROWS = 16
HALF = ROWS // 2
LINE = 64
"""Bytes of a row of a tile register."""

DELAY = 2
"""Groups that are multiplied before the sums of one are read: they go through memory, which takes a while."""
NUM_BUFFERS = 4
"""A power of two above DELAY."""

_SUMS, _INPUTS, _WEIGHTS = range(3)  # tile registers


def make_amx_matmul(
    weights: IntegerWeights, quads_start: int, rest_of_rows: Callable[..., None]
) -> Callable[..., None]:
    """An implementation of `matmul` for weights in one part: whole tiles and a half by AMX, the last by `rest_of_rows`.

    A block's quads begin `quads_start` bytes after its group does.
    """
    layout = weights.layout
    tile, half_tile = (
        make_tile(_make_reduce(weights, quads_start), layout, height, 1, fetches_ahead=True) for height in (ROWS, HALF)
    )
    configure, configure_half = _make_configure(ROWS), _make_configure(HALF)
    compute_rest = register_jitable(inline="always")(rest_of_rows)
    inputs, outputs = layout.inputs, layout.outputs
    group_bytes, row_group_bytes, header_bytes = layout.group_bytes, layout.row_group_bytes, layout.header_bytes

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
        last_whole = first_row + (last_row - first_row) // ROWS * ROWS
        if last_whole > first_row:
            configure()
            for block in range(first_block, last_block):
                packed, column = matrix.start + block * block_bytes, out_start + block * outputs
                for row in range(first_row, last_whole, ROWS):
                    read, write = rows_start + row * row_bytes, column + row * out_width
                    ahead = block_bytes if last_whole - row == ROWS else 0
                    tile(data, packed, num_groups, rows, read, out, write, out_width, accumulate, ahead)
            _release()
        last_half = last_whole + (last_row - last_whole) // HALF * HALF
        if last_half > last_whole:
            configure_half()
            read, ahead = rows_start + last_whole * row_bytes, block_bytes if last_whole == first_row else 0
            for block in range(first_block, last_block):
                packed, write = matrix.start + block * block_bytes, out_start + block * outputs + last_whole * out_width
                half_tile(data, packed, num_groups, rows, read, out, write, out_width, accumulate, ahead)
            _release()
        if last_row > last_half:
            compute_rest(
                weights,
                matrix,
                rows,
                rows_start,
                last_half,
                last_row,
                out,
                out_start,
                out_width,
                accumulate,
                first_block,
                last_block,
            )

    return matmul


def _make_reduce(weights: IntegerWeights, quads_start: int) -> Reduce:
    layout = weights.layout

    def reduce(
        builder: ir.IRBuilder,
        height: int,
        blocks: list[ir.Value],
        rows: ir.Value,
        num_groups: ir.Value,
        ahead: ir.Value | None,
    ) -> list[list[ir.Value]]:
        [block] = blocks
        totals = variables(builder, [constant(FLOATS, 0.0)] * height)
        products = _scratch(builder, NUM_BUFFERS * height)

        def place_of(number: ir.Value) -> tuple[ir.Value, ir.Value, ir.Value]:
            """The group of the rows, that of the block, and the memory for their products."""
            inputs = at(builder, rows, builder.mul(number, index(layout.row_group_bytes * height)), I8)
            offset = builder.add(builder.mul(number, index(layout.group_bytes)), index(layout.header_bytes))
            buffer = builder.and_(number, index(NUM_BUFFERS - 1))
            return (
                inputs,
                at(builder, block, offset, I8),
                at(builder, products, builder.mul(buffer, index(LINE * height)), I8),
            )

        def multiply_group(number: ir.Value) -> None:
            inputs, group, target = place_of(number)
            fetch_ahead(builder, group, ahead, layout.group_bytes)
            _emit(builder, "tilezero", _SUMS)
            _emit(builder, "tileloadd64", _INPUTS, at(builder, inputs, 8 * height, I8), index(LINE))
            _emit(builder, "tileloadd64", _WEIGHTS, at(builder, group, quads_start, I8), index(LINE))
            _emit(builder, "tdpbsud", _SUMS, _INPUTS, _WEIGHTS)  # signed inputs, unsigned weights
            _emit(builder, "tilestored64", _SUMS, target, index(LINE))

        def add_group(number: ir.Value) -> None:
            inputs, group, source = place_of(number)
            scales = weights.load_scales(builder, group, 0)
            for row in range(height):
                correction = builder.load(at(builder, inputs, 4 * (height + row), I32), align=4)
                product = builder.load(at(builder, source, LINE * row, INTEGERS), align=LINE)
                total = builder.add(product, splat(builder, correction, layout.outputs))
                value = builder.fmul(builder.sitofp(total, FLOATS), scales)
                scale = splat(builder, builder.load(at(builder, inputs, 4 * row, F32), align=4), layout.outputs)
                builder.store(multiply_add(builder, value, scale, builder.load(totals[row])), totals[row])

        with counted(builder, index(0), num_groups) as (number, _):
            multiply_group(number)
            with builder.if_then(builder.icmp_signed(">=", number, index(DELAY))):
                add_group(builder.sub(number, index(DELAY)))
        first_left = builder.sub(num_groups, index(DELAY))
        first_left = builder.select(builder.icmp_signed("<", first_left, index(0)), index(0), first_left)
        with counted(builder, first_left, num_groups) as (number, _):
            add_group(number)
        return [[builder.load(total)] for total in totals]

    return reduce


def _scratch(builder: ir.IRBuilder, num_lines: int) -> ir.Value:
    """Aligned memory on the stack, as bytes."""
    lines = cgutils.alloca_once(builder, ir.ArrayType(INTEGERS, num_lines))
    lines.align = LINE
    return builder.bitcast(lines, I8.as_pointer())


def _emit(builder: ir.IRBuilder, name: str, *operands: ir.Value | int) -> None:
    """An instruction of AMX; an integer among the operands is the number of a register."""
    call(
        builder,
        f"llvm.x86.{name}",
        ir.VoidType(),
        *(I8(operand) if isinstance(operand, int) else operand for operand in operands),
    )


def _make_configure(height: int) -> Callable[[], None]:
    """Compiled code that gives the registers of this thread the shape of a tile of that height, and zeros."""
    # What `ldtilecfg` reads: the palette, then bytes of a row and number of rows of each tile register.
    config = struct.pack("<2B14x8H16x8B8x", 1, 0, *[LINE] * 3, *[0] * 5, height, height, ROWS, *[0] * 5)

    @primitive
    def configure(typing: Any) -> Any:
        def generate(context: Any, builder: ir.IRBuilder, _sig: Any, _values: Any) -> ir.Value:
            lines = _scratch(builder, 1)
            numbers = struct.unpack("<16i", config)
            builder.store(ir.Constant(INTEGERS, numbers), at(builder, lines, 0, INTEGERS), align=LINE)
            _emit(builder, "ldtilecfg", lines)
            return context.get_dummy_value()

        return types.void(), generate

    return configure


@primitive
def _release(typing: Any) -> Any:
    """Leave the registers without content, so that the kernel need not save them."""

    def generate(context: Any, builder: ir.IRBuilder, _sig: Any, _values: Any) -> ir.Value:
        _emit(builder, "tilerelease")
        return context.get_dummy_value()

    return types.void(), generate

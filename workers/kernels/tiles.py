# ruff: noqa: ARG001 - numba matches arguments by the names of all parameters, used or not
"""Matrix products made of tiles: up to 8 rows by one block of columns, kept in registers while k runs.

A format says how its tile is reduced, as LLVM IR; the loops over rows and columns are the same for all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from workers.kernels.vectors import F32, address, constant, primitive

INDEX = ir.IntType(64)


def index(value: int) -> ir.Constant:
    """A constant offset or extent."""
    return ir.Constant(INDEX, value)


@dataclass(frozen=True)
class Operand:
    """A named tuple of arrays, seen from LLVM IR."""

    context: Any
    builder: ir.IRBuilder
    numba_type: Any
    value: ir.Value

    def extent(self, field: str, axis: int) -> ir.Value:
        """The size of one axis of an array."""
        array_type, array = self._array(field)
        shape = self.context.make_array(array_type)(self.context, self.builder, array).shape
        return self.builder.extract_value(shape, axis)

    def pointer(self, field: str, offset: ir.Value, to: ir.Type) -> ir.Value:
        """Pointer to the element of an array at a flat offset, as a pointer to `to`."""
        return address(self.context, self.builder, *self._array(field), offset, to)

    def _array(self, field: str) -> tuple[Any, ir.Value]:
        position = self.numba_type.fields.index(field)
        return self.numba_type.types[position], self.builder.extract_value(self.value, position)


Reduce = Callable[[ir.IRBuilder, int, Operand, ir.Value, Operand, ir.Value], list[ir.Value]]
"""(builder, height, rows, first row, matrix, block) -> `height` vectors: these rows times a block of columns.

Each lane is reduced in an order that depends on neither the height nor the row.
"""


def make_matmul(reduce: Reduce, columns: int) -> Callable[..., None]:
    """An implementation of `matmul` for formats whose `matrix.values` is (layers, blocks of columns, ...)."""
    tile_8, tile_4, tile_2, tile_1 = (_make_tile(reduce, height) for height in (8, 4, 2, 1))

    def matmul(
        rows: Any,
        num_rows: int,
        matrix: Any,
        layer: int,
        out: Any,
        accumulate: bool,
        rank: int,
        size: int,
    ) -> None:
        num_blocks, width = matrix.values.shape[1], out.shape[1]
        for block in range(num_blocks * rank // size, num_blocks * (rank + 1) // size):
            packed, column = layer * num_blocks + block, block * columns
            row = 0
            while num_rows - row >= 8:
                tile_8(rows, row, matrix, packed, out, row * width + column, accumulate)
                row += 8
            if num_rows - row >= 4:
                tile_4(rows, row, matrix, packed, out, row * width + column, accumulate)
                row += 4
            if num_rows - row >= 2:
                tile_2(rows, row, matrix, packed, out, row * width + column, accumulate)
                row += 2
            if num_rows > row:
                tile_1(rows, row, matrix, packed, out, row * width + column, accumulate)

    return matmul


def _make_tile(reduce: Reduce, height: int) -> Callable[..., None]:
    @primitive
    def tile(typing: Any, rows: Any, row: Any, matrix: Any, block: Any, out: Any, at: Any, add: Any) -> Any:
        """Write `height` rows of one block of the product at a flat offset of `out`, or `add` them there."""

        def generate(context: Any, builder: ir.IRBuilder, _sig: Any, given: Any) -> ir.Value:
            rows_value, row, matrix_value, block, out_value, at, add = given
            inputs = Operand(context, builder, rows, rows_value)
            weights = Operand(context, builder, matrix, matrix_value)
            results = reduce(builder, height, inputs, row, weights, block)
            width = builder.extract_value(context.make_array(out)(context, builder, out_value).shape, 1)
            start = address(context, builder, out, out_value, at, F32)
            for below, result in enumerate(results):
                target = builder.gep(start, [builder.mul(width, index(below))])
                target = builder.bitcast(target, result.type.as_pointer())
                before = builder.select(add, builder.load(target, align=4), constant(result.type, 0.0))
                builder.store(builder.fadd(before, result), target, align=4)
            return context.get_dummy_value()

        signature = types.void(rows, types.intp, matrix, types.intp, out, types.intp, types.boolean)
        return signature, generate

    return tile


def variables(builder: ir.IRBuilder, initial: ir.Value, count: int) -> list[ir.Value]:
    """`count` variables of a loop, which LLVM keeps in registers."""
    slots = [cgutils.alloca_once(builder, initial.type) for _ in range(count)]
    for slot in slots:
        builder.store(initial, slot)
    return slots


def counted(builder: ir.IRBuilder, stop: ir.Value, step: int) -> Any:
    """A loop over 0, step, 2 step, ... below `stop`, as a context that yields the counter."""
    return cgutils.for_range_slice(builder, index(0), stop, index(step), intp=INDEX)

# ruff: noqa: ARG001 - numba matches arguments by the names of all parameters, used or not
"""Rows quantised to int8 for the integer formats, each group by its largest value."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import register_jitable

from cactus_actors.workers.kernels.row_encoding import WriteGroup
from cactus_actors.workers.kernels.simd import (
    F32,
    FLOATS,
    I8,
    I32,
    INTEGERS,
    LANES,
    address,
    call,
    constant,
    index,
    nearest_integers,
    primitive,
    splat,
    vector,
)
from cactus_actors.workers.kernels.tiles import at

SMALL = ir.VectorType(I8, LANES)
GROUP_SIZE = 64
SMALLEST_GROUP = np.float32(1e-36)
"""A group with no larger value counts as zero: the reciprocal of a denormal number overflows."""


@primitive
def store_quads(typing: Any, array: Any, offset: Any, stride: Any, value: Any, zero_point: Any) -> Any:
    """round(value) + zero_point as four times four bytes, `stride` bytes apart, for |value| <= 127."""

    def generate(context: Any, builder: ir.IRBuilder, _sig: Any, values: Any) -> ir.Value:
        data, offset, stride, value, zero_point = values
        integers = builder.add(nearest_integers(builder, value), splat(builder, zero_point, LANES))
        quads = builder.bitcast(builder.trunc(integers, SMALL), ir.VectorType(I32, 4))
        for quad in range(4):
            target = address(context, builder, array, data, offset, I32)
            builder.store(builder.extract_element(quads, I32(quad)), target, align=4)
            offset = builder.add(offset, stride)
        return context.get_dummy_value()

    return types.void(array, types.intp, types.intp, vector, types.int32), generate


@primitive
def largest_of_group(typing: Any, source: Any, start: Any) -> Any:
    """The largest magnitude of GROUP_SIZE floats; NaN if one of them is."""

    def generate(context: Any, builder: ir.IRBuilder, _sig: Any, values: Any) -> ir.Value:
        return _largest_of(builder, _load_group(context, builder, source, *values))

    return types.float32(source, types.intp), generate


def _load_group(context: Any, builder: ir.IRBuilder, source: Any, data: ir.Value, start: ir.Value) -> list[ir.Value]:
    group = address(context, builder, source, data, start, FLOATS)
    vectors = range(GROUP_SIZE // LANES)
    return [builder.load(builder.gep(group, [index(number)]), align=4) for number in vectors]


def _largest_of(builder: ir.IRBuilder, vectors: list[ir.Value]) -> ir.Value:
    # Without their signs, floats are ordered as their bits are, and NaN is the largest.
    bits = [builder.and_(builder.bitcast(each, INTEGERS), constant(INTEGERS, 2**31 - 1)) for each in vectors]
    while len(bits) > 1:
        pairs = zip(bits[::2], bits[1::2], strict=True)
        bits = [builder.select(builder.icmp_signed(">", a, b), a, b) for a, b in pairs]
    return builder.bitcast(call(builder, "llvm.vector.reduce.smax.v16i32", I32, bits[0]), F32)


def make_write_group(parts: int, zero_point: int) -> WriteGroup:
    """Groups of rows as `integer_tiles` says."""

    @primitive
    def write_integers(typing: Any, rows: Any, scale: Any, stride: Any, write: Any, source: Any, read: Any) -> Any:
        """A group of a row: its scale, the corrections `stride` bytes apart after it, its integers."""

        def generate(context: Any, builder: ir.IRBuilder, _sig: Any, values: Any) -> ir.Value:
            rows_value, scale, stride, write, source_value, read = values
            vectors = _load_group(context, builder, source, source_value, read)
            peak, limit = _largest_of(builder, vectors), ir.Constant(F32, 127.0)
            vanishes = builder.fcmp_ordered("<", peak, ir.Constant(F32, float(SMALLEST_GROUP)))
            inverse = builder.select(vanishes, ir.Constant(F32, 0.0), builder.fdiv(limit, peak))
            record = address(context, builder, rows, rows_value, scale, I8)
            builder.store(builder.fdiv(peak, limit), at(builder, record, 0, F32), align=4)
            target = address(context, builder, rows, rows_value, write, I8)
            scaled = [builder.fmul(each, splat(builder, inverse, LANES)) for each in vectors]
            integers = [nearest_integers(builder, each) for each in scaled]
            for number, each in enumerate(integers):
                here = at(builder, target, number * LANES, SMALL)
                builder.store(builder.trunc(each, SMALL), here, align=4)
            count = len(integers) // parts
            for part in range(parts):
                total = reduce(builder.add, integers[part * count : (part + 1) * count])
                total = call(builder, "llvm.vector.reduce.add.v16i32", I32, total)
                correction = at(builder, record, builder.mul(stride, index(1 + part)), I32)
                builder.store(builder.mul(total, I32(-zero_point)), correction, align=4)
            return context.get_dummy_value()

        return types.void(rows, types.intp, types.intp, types.intp, source, types.intp), generate

    @register_jitable(inline="always")
    def write_group(rows: Any, start: int, place: int, height: int, source: Any, read: int) -> None:
        write = start + (4 + 4 * parts) * height + GROUP_SIZE * place
        write_integers(rows, start + 4 * place, 4 * height, write, source, read)

    return write_group  # type: ignore[no-any-return]  # numba is untyped

# ruff: noqa: ARG001 - numba matches arguments by the names of all parameters, used or not
"""Rows rounded to int8, each group by its own largest value, as the integer formats multiply them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import register_jitable

from workers.kernels.arena import store_float, store_integer
from workers.kernels.matrix import Layout
from workers.kernels.tiles import make_find_tile
from workers.kernels.vectors import (
    FLOATS,
    I8,
    I32,
    INTEGERS,
    LANES,
    absolute,
    address,
    broadcast,
    call,
    constant,
    index,
    load,
    max_of_lanes,
    maximum,
    primitive,
    vector,
)

GROUP_SIZE = 64
SMALLEST_GROUP = np.float32(1e-36)
"""A group with no larger value counts as zero: the reciprocal of a denormal number overflows."""


@primitive
def store_quads(typing: Any, array: Any, offset: Any, stride: Any, value: Any, zero_point: Any) -> Any:
    """round(value) + zero_point as four times four bytes, `stride` bytes apart, for |value| <= 127.

    Returns the sum of the rounded values. Ties go to even: adding 1.5 * 2^23 leaves the integer in the low
    bits of the float.
    """

    def generate(context: Any, builder: ir.IRBuilder, _sig: Any, values: Any) -> ir.Value:
        data, offset, stride, value, zero_point = values
        magic = constant(FLOATS, 1.5 * 2**23)
        bits = builder.bitcast(builder.fadd(value, magic), INTEGERS)
        integers = builder.sub(bits, builder.bitcast(magic, INTEGERS))
        small = builder.trunc(integers, ir.VectorType(I8, LANES))
        repeated = builder.insert_element(constant(small.type, 0), builder.trunc(zero_point, I8), I32(0))
        repeated = builder.shuffle_vector(repeated, repeated, constant(INTEGERS, 0))
        quads = builder.bitcast(builder.add(small, repeated), ir.VectorType(I32, 4))
        for quad in range(4):
            target = address(context, builder, array, data, offset, I32)
            builder.store(builder.extract_element(quads, I32(quad)), target, align=4)
            offset = builder.add(offset, stride)
        return call(builder, "llvm.vector.reduce.add.v16i32", I32, integers)

    return types.int32(array, types.intp, types.intp, vector, types.int32), generate


def _write_rounded(
    context: Any, builder: ir.IRBuilder, array: Any, data: ir.Value, offset: ir.Value, vectors: list[ir.Value]
) -> ir.Value:
    """Vectors, rounded as `store_quads` does, as bytes one behind another; the sum of the rounded values."""
    magic, small = constant(FLOATS, 1.5 * 2**23), ir.VectorType(I8, LANES)
    total = constant(INTEGERS, 0)
    for number, value in enumerate(vectors):
        bits = builder.bitcast(builder.fadd(value, magic), INTEGERS)
        integers = builder.sub(bits, builder.bitcast(magic, INTEGERS))
        here = address(context, builder, array, data, builder.add(offset, index(number * LANES)), small)
        builder.store(builder.trunc(integers, small), here, align=1)
        total = builder.add(total, integers)
    return call(builder, "llvm.vector.reduce.add.v16i32", I32, total)


@primitive
def store_16_rounded(typing: Any, array: Any, offset: Any, value: Any) -> Any:
    """Sixteen values as bytes at an offset; their sum."""

    def generate(context: Any, builder: ir.IRBuilder, _sig: Any, values: Any) -> ir.Value:
        data, offset, *vectors = values
        return _write_rounded(context, builder, array, data, offset, vectors)

    return types.int32(array, types.intp, vector), generate


@primitive
def store_32_rounded(typing: Any, array: Any, offset: Any, first: Any, second: Any) -> Any:
    """Twice sixteen values as bytes at an offset; their sum."""

    def generate(context: Any, builder: ir.IRBuilder, _sig: Any, values: Any) -> ir.Value:
        data, offset, *vectors = values
        return _write_rounded(context, builder, array, data, offset, vectors)

    return types.int32(array, types.intp, vector, vector), generate


@register_jitable
def largest_of_group(source: Any, start: int) -> Any:
    """The largest magnitude of GROUP_SIZE floats; NaN if one of them is."""
    largest = absolute(load(source, start))
    for k in range(16, 64, 16):
        largest = maximum(largest, absolute(load(source, start + k)))
    return max_of_lanes(largest)


def make_encode_row(layout: Layout, max_height: int, parts: int, zero_point: int) -> Callable[..., None]:
    """An implementation of `encode_row`: rows as `integer_tiles` says."""
    find_tile = make_find_tile(max_height)
    row_group_bytes, part_size, header = layout.row_group_bytes, GROUP_SIZE // parts, 4 + 4 * parts

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
        num_groups = (num_columns + GROUP_SIZE - 1) // GROUP_SIZE
        top, height = find_tile(row, num_rows)
        tile_start = rows_start + top * num_groups * row_group_bytes
        for group in range(first // GROUP_SIZE, min(last // GROUP_SIZE, num_groups)):
            start = tile_start + group * height * row_group_bytes
            scale = start + 4 * (row - top)
            write = start + header * height + GROUP_SIZE * (row - top)
            read = source_start + group * GROUP_SIZE
            peak = largest_of_group(source, read)
            inverse = broadcast(np.float32(0) if peak < SMALLEST_GROUP else np.float32(127) / peak)
            store_float(rows, scale, peak / np.float32(127))
            for part in range(parts):
                total = np.int32(0)
                begin = part * part_size
                if part_size == 16:
                    total = store_16_rounded(rows, write + begin, load(source, read + begin) * inverse)
                for k in range(begin, begin + part_size // 32 * 32, 32):
                    pair = load(source, read + k) * inverse, load(source, read + k + 16) * inverse
                    total += store_32_rounded(rows, write + k, pair[0], pair[1])
                store_integer(rows, scale + 4 * (1 + part) * height, np.int32(-zero_point * total))

    return encode_row

# ruff: noqa: ARG001 - numba matches arguments by the names of all parameters, used or not
"""Rows rounded to int8, each group by its own largest value, as the integer formats multiply them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

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
    load,
    max_of_lanes,
    maximum,
    primitive,
    vector,
)
from workers.weights.quantize import SMALLEST_GROUP


@primitive
def store_quads(typing: Any, array: Any, offset: Any, stride: Any, value: Any) -> Any:
    """round(value) as four times four int8, `stride` bytes apart, for |value| <= 127; their sum.

    Ties go to even: adding 1.5 * 2^23 leaves the rounded integer in the low bits of the float.
    """

    def generate(context: Any, builder: ir.IRBuilder, _sig: Any, values: Any) -> ir.Value:
        data, offset, stride, value = values
        magic = constant(FLOATS, 1.5 * 2**23)
        bits = builder.bitcast(builder.fadd(value, magic), INTEGERS)
        integers = builder.sub(bits, builder.bitcast(magic, INTEGERS))
        quads = builder.bitcast(builder.trunc(integers, ir.VectorType(I8, LANES)), ir.VectorType(I32, 4))
        for quad in range(4):
            target = address(context, builder, array, data, offset, I32)
            builder.store(builder.extract_element(quads, ir.Constant(I32, quad)), target, align=4)
            offset = builder.add(offset, stride)
        return call(builder, "llvm.vector.reduce.add.v16i32", I32, integers)

    return types.int32(array, types.intp, types.intp, vector), generate


def make_encode_row(layout: Layout, max_height: int, zero_point: int) -> Callable[..., None]:
    """An implementation of `encode_row`: see `int8.LAYOUT`. A correction is -zero_point * sum of the group."""
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
    ) -> None:
        num_groups = (num_columns + inputs - 1) // inputs
        first, height = find_tile(row, num_rows)
        tile_start = rows_start + first * num_groups * row_group_bytes
        for group in range(num_groups):
            read = source_start + group * inputs
            largest = absolute(load(source, read))
            for k in range(16, inputs, 16):
                largest = maximum(largest, absolute(load(source, read + k)))
            peak = max_of_lanes(largest)
            inverse = np.float32(0) if peak < SMALLEST_GROUP else np.float32(127) / peak
            write = tile_start + group * height * row_group_bytes + 4 * (row - first)
            total = np.int32(0)
            for k in range(0, inputs, 16):
                values = load(source, read + k) * broadcast(inverse)
                total += store_quads(rows, write + (8 + k) * height, 4 * height, values)
            store_float(rows, write, peak / np.float32(127))
            store_integer(rows, write + 4 * height, np.int32(-zero_point * total))

    return encode_row

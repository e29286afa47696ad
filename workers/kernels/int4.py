# ruff: noqa: ARG001 - numba matches arguments by the names of all parameters, used or not
"""Weights as four bits, w + 8, with a float16 scale for each part of 32 inputs."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import register_jitable
from numpy.typing import NDArray

from workers.kernels.arena import load_half, store_half
from workers.kernels.instruction_sets import InstructionSet
from workers.kernels.integer_tiles import QUADS, IntegerWeights, make_integer_reduce
from workers.kernels.matrix import Kernels, Layout, make_formats
from workers.kernels.memory import aligned_zeros
from workers.kernels.quantised_rows import GROUP_SIZE, SMALLEST_GROUP, make_encode_row, store_quads
from workers.kernels.tiles import at, make_matmul
from workers.kernels.vectors import (
    F32,
    FLOATS,
    I8,
    broadcast,
    constant,
    load,
    primitive,
    sum_of_lanes,
    vector,
)

OUTPUTS = 16
PARTS = 2
PART_SIZE = GROUP_SIZE // PARTS
ZERO_POINT = 8
SCALES_BYTES = OUTPUTS * 2  # of one part
QUAD_BYTES = OUTPUTS * 2
QUADS_START = PARTS * SCALES_BYTES
GROUP_BYTES = QUADS_START + QUADS * QUAD_BYTES
LAYOUT = Layout(OUTPUTS, GROUP_SIZE, GROUP_BYTES, row_group_bytes=4 + 4 * PARTS + GROUP_SIZE)
"""A block's group: [2 parts][16 scales], then [8 pairs of quads][16 outputs][4 inputs]; a byte holds an
input of the pair's first quad in its lower half and one of the second quad in its upper half."""

NUM_CANDIDATES = 16
LARGEST_HALF = np.float32(65504)


@primitive
def _nearest(typing: Any, value: Any) -> Any:
    """The nearest integers from -8 to 7, ties to even."""

    def generate(context: Any, builder: ir.IRBuilder, _sig: Any, values: Any) -> ir.Value:
        magic = constant(FLOATS, 1.5 * 2**23)
        rounded = builder.fsub(builder.fadd(values[0], magic), magic)
        for bound, beyond in ((-8.0, "<"), (7.0, ">")):
            limit = constant(FLOATS, bound)
            rounded = builder.select(builder.fcmp_ordered(beyond, rounded, limit), limit, rounded)
        return rounded

    return vector(vector), generate


@primitive
def _as_half(typing: Any, value: Any) -> Any:
    """Rounded to float16."""

    def generate(context: Any, builder: ir.IRBuilder, _sig: Any, values: Any) -> ir.Value:
        return builder.fpext(builder.fptrunc(values[0], ir.HalfType()), F32)

    return types.float32(types.float32), generate


@register_jitable
def _best_scale(source: Any, start: int) -> Any:
    """The scale with the least squared error for 32 weights, among some near the one that maps the weight of
    the largest magnitude to -8."""
    peak = np.float32(0)
    for k in range(start, start + PART_SIZE):
        if abs(source[k]) > abs(peak):
            peak = source[k]
    if abs(peak) < SMALLEST_GROUP:
        return np.float32(0)
    low, high = load(source, start), load(source, start + 16)
    best, least = np.float32(0), np.float32(np.inf)
    for candidate in range(NUM_CANDIDATES):
        share = np.float32(0.7 + candidate * 0.45 / (NUM_CANDIDATES - 1))
        scale = _as_half(max(-LARGEST_HALF, min(LARGEST_HALF, peak * share / np.float32(-8))))
        if scale != 0:
            inverse, step = broadcast(np.float32(1) / scale), broadcast(scale)
            low_error = low - _nearest(low * inverse) * step
            high_error = high - _nearest(high * inverse) * step
            error = sum_of_lanes(low_error * low_error + high_error * high_error)
            if error < least:
                best, least = scale, error
    return best


@njit(error_model="numpy", nogil=True)
def _pack(weights: Any, padded: Any, quads: Any, target: Any) -> None:
    num_rows, num_columns = weights.shape
    num_groups = (num_columns + GROUP_SIZE - 1) // GROUP_SIZE
    flat = weights.reshape(-1)
    for row in range((num_rows + OUTPUTS - 1) // OUTPUTS * OUTPUTS):
        block, lane = row // OUTPUTS, row % OUTPUTS
        for part in range(num_groups * PARTS):
            source, start = flat, row * num_columns + part * PART_SIZE
            count = max(0, min(num_columns - part * PART_SIZE, PART_SIZE)) if row < num_rows else 0
            if count < PART_SIZE:
                padded[:] = 0
                for k in range(count):
                    padded[k] = flat[start + k]
                source, start = padded, 0
            scale = _best_scale(source, start)
            inverse = broadcast(np.float32(1) / scale if scale != 0 else np.float32(0))
            for k in range(0, PART_SIZE, 16):
                integers = _nearest(load(source, start + k) * inverse)
                store_quads(quads, k, 4, integers, np.int32(ZERO_POINT))
            group = (block * num_groups + part // PARTS) * GROUP_BYTES
            store_half(target, group + part % PARTS * SCALES_BYTES + 2 * lane, scale)
            write = group + QUADS_START + part % PARTS * (QUADS // PARTS) * QUAD_BYTES + 4 * lane
            for pair in range(PART_SIZE // 8):
                for k in range(4):
                    low, high = quads[8 * pair + k], quads[8 * pair + 4 + k]
                    target[write + 2 * QUAD_BYTES * pair + k] = low | high << 4


def _pack_int4(weights: NDArray[np.float32], target: NDArray[np.uint8]) -> None:
    _pack(weights, aligned_zeros((PART_SIZE,), np.float32), aligned_zeros((PART_SIZE,), np.uint8), target)


def _load_scales(builder: ir.IRBuilder, group: ir.Value, part: int) -> ir.Value:
    halves = ir.VectorType(ir.HalfType(), OUTPUTS)
    return builder.fpext(builder.load(at(builder, group, part * SCALES_BYTES, halves), align=32), FLOATS)


def _load_quads(builder: ir.IRBuilder, quads: ir.Value, count: int) -> list[ir.Value]:
    loaded, vector_type = [], ir.VectorType(I8, 2 * QUAD_BYTES)
    low_half = constant(vector_type, 15)
    for pair in range(count // 2):
        both = builder.load(at(builder, quads, pair * 2 * QUAD_BYTES, vector_type), align=64)
        loaded.append(builder.and_(both, low_half))
        loaded.append(builder.lshr(both, constant(vector_type, 4)))
    return loaded


def _decode_row(weights: Any, matrix: Any, index: int, out: Any, out_start: int) -> None:
    num_groups = (matrix.num_columns + GROUP_SIZE - 1) // GROUP_SIZE
    block, lane = index // OUTPUTS, index % OUTPUTS
    for group in range(num_groups):
        start = matrix.start + (block * num_groups + group) * GROUP_BYTES
        for k in range(GROUP_SIZE):
            scale = load_half(weights.data, start + k // PART_SIZE * SCALES_BYTES + 2 * lane)
            both = weights.data[start + QUADS_START + k // 8 * 2 * QUAD_BYTES + 4 * lane + k % 4]
            unsigned = both & 15 if k % 8 < 4 else both >> 4
            out[out_start + group * GROUP_SIZE + k] = np.float32(np.int32(unsigned) - ZERO_POINT) * scale


_WEIGHTS = IntegerWeights(LAYOUT, PARTS, QUAD_BYTES, _load_scales, _load_quads)


def _make_kernels(instructions: InstructionSet) -> Kernels:
    return Kernels(
        make_encode_row(LAYOUT, instructions.max_height, PARTS, ZERO_POINT),
        # Parts keep so many values alive that wider tiles spill.
        make_matmul(make_integer_reduce(_WEIGHTS, instructions), LAYOUT, instructions, max_width=1),
        _decode_row,
    )


INT4 = make_formats("int4", LAYOUT, _pack_int4, _make_kernels)

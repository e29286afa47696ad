"""Weights as four bits, indices into a table of sixteen levels, with an int8 scale for each part of 16 inputs
and a float32 scale for each output."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.extending import register_jitable
from numpy.typing import NDArray

from cactus_actors.workers.kernels.aligned_memory import aligned_zeros
from cactus_actors.workers.kernels.byte_access import load_float, store_float
from cactus_actors.workers.kernels.compile_cache import kept_njit
from cactus_actors.workers.kernels.four_bits import (
    GROUP_BYTES,
    HEADER_BYTES,
    LAYOUT,
    OUTPUTS,
    PART_SIZE,
    PARTS,
    QUAD_BYTES,
    QUADS_START,
    load_scale_bytes,
    make_four_bit_kernels,
    make_nearest,
)
from cactus_actors.workers.kernels.integer_tiles import QUADS
from cactus_actors.workers.kernels.matrix import make_formats
from cactus_actors.workers.kernels.quantised_rows import GROUP_SIZE, store_quads
from cactus_actors.workers.kernels.simd import (
    FLOATS,
    INTEGERS,
    absolute,
    broadcast,
    load,
    max_of_lanes,
    sum_of_lanes,
)

LEVELS = (-127, -104, -83, -65, -49, -35, -22, -10, 0, 13, 25, 38, 53, 69, 89, 113)
"""Closer together where bell-shaped weights are dense: the levels of IQ4_NL in llama.cpp's ggml, except that
the one at 1 is 0 here, so that zero is kept. A scale may be negative: either end serves the longer tail."""

UNITS = 100 * 127
"""The largest weight of a row, in units of its output's scale."""

NUM_SHARES = 8
SMALLEST_ROW = np.float32(1e-30)
"""A row with no larger weight counts as zero: its unit would be denormal."""

_TABLE = np.array(LEVELS, np.float32)


_nearest_level = make_nearest(LEVELS, LEVELS)
_nearest_place = make_nearest(LEVELS, tuple(range(len(LEVELS))))


@register_jitable
def _best_scale(weights: Any) -> Any:
    """The scale from -127 to 127 with the least squared error for 16 weights in units, among some that map
    the weight of the largest magnitude near the lowest or the highest level."""
    best, least = np.float32(0), sum_of_lanes(weights * weights)
    peak = max_of_lanes(absolute(weights))
    for candidate in range(2 * NUM_SHARES):
        share = np.float32(0.8 + candidate // 2 * 0.35 / (NUM_SHARES - 1))
        scale = np.rint(peak * share / np.float32(127)) * np.float32(1 - candidate % 2 * 2)
        if scale != 0:
            level = _nearest_level(weights * broadcast(np.float32(1) / scale))
            error = weights - level * broadcast(scale)
            squared = sum_of_lanes(error * error)
            if squared < least:
                best, least = scale, squared
    return best


@kept_njit(error_model="numpy", nogil=True)
def _pack(weights: Any, in_units: Any, places: Any, target: Any) -> None:
    num_rows, num_columns = weights.shape
    num_groups = (num_columns + GROUP_SIZE - 1) // GROUP_SIZE
    block_bytes = HEADER_BYTES + num_groups * GROUP_BYTES
    for row in range((num_rows + OUTPUTS - 1) // OUTPUTS * OUTPUTS):
        peak = np.float32(0)
        for k in range(num_columns if row < num_rows else 0):
            peak = max(peak, abs(weights[row, k]))
        unit = peak / np.float32(UNITS) if peak >= SMALLEST_ROW else np.float32(0)
        inverse_unit = np.float32(1) / unit if unit > 0 else np.float32(0)
        for k in range(num_columns):
            in_units[k] = weights[row, k] * inverse_unit if row < num_rows else np.float32(0)
        block, lane = row // OUTPUTS * block_bytes, row % OUTPUTS
        store_float(target, block + 4 * lane, unit)
        for part in range(num_groups * PARTS):
            values = load(in_units, part * PART_SIZE)
            scale = _best_scale(values)
            inverse = np.float32(1) / scale if scale != 0 else np.float32(0)
            store_quads(places, 0, 4, _nearest_place(values * broadcast(inverse)), np.int32(0))
            group = block + HEADER_BYTES + part // PARTS * GROUP_BYTES
            target[group + part % PARTS * OUTPUTS + lane] = np.int32(scale) & 255
            write = group + QUADS_START + part % PARTS * (QUADS // PARTS) * QUAD_BYTES + 4 * lane
            for pair in range(PART_SIZE // 8):
                for k in range(4):
                    low, high = places[8 * pair + k], places[8 * pair + 4 + k]
                    target[write + 2 * QUAD_BYTES * pair + k] = low | high << 4


def _pack_int4(weights: NDArray[np.float32], target: NDArray[np.uint8]) -> None:
    depth = LAYOUT.num_groups(weights.shape[1]) * GROUP_SIZE
    _pack(weights, aligned_zeros((depth,), np.float32), aligned_zeros((PART_SIZE,), np.uint8), target)


def _load_scales(builder: ir.IRBuilder, group: ir.Value, part: int) -> ir.Value:
    return builder.sitofp(builder.sext(load_scale_bytes(builder, group, part), INTEGERS), FLOATS)


def _decode_row(weights: Any, matrix: Any, index: int, out: Any, out_start: int) -> None:
    num_groups = (matrix.num_columns + GROUP_SIZE - 1) // GROUP_SIZE
    block, lane = index // OUTPUTS, index % OUTPUTS
    start = matrix.start + block * (HEADER_BYTES + num_groups * GROUP_BYTES)
    unit = load_float(weights.data, start + 4 * lane)
    for group in range(num_groups):
        group_start = start + HEADER_BYTES + group * GROUP_BYTES
        for k in range(GROUP_SIZE):
            scale = np.float32(np.int8(weights.data[group_start + k // PART_SIZE * OUTPUTS + lane]))
            pair = group_start + QUADS_START + k // 8 * 2 * QUAD_BYTES
            place = weights.data[pair + 4 * lane + k % 4] >> k % 8 // 4 * 4 & 15
            out[out_start + group * GROUP_SIZE + k] = _TABLE[place] * scale * unit


INT4 = make_formats("int4", LAYOUT, _pack_int4, make_four_bit_kernels(LEVELS, _load_scales, _decode_row))

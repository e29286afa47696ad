"""Weights in MXFP4: four bits (E2M1) with a power of two for each 32 inputs (OCP Microscaling Formats 1.0, 2023).

They are packed as int4 is, but for the levels and the scales: a scale byte is the exponent of half a unit, so that
the levels are integers, and both parts of 32 inputs have the same. Weights that were in MXFP4 before are kept exactly,
unless all 32 are below 2^-123 and become zeros; others are rounded to the nearest level.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

from cactus_actors.workers.kernels.aligned_memory import aligned_zeros
from cactus_actors.workers.kernels.byte_access import store_float
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
from cactus_actors.workers.kernels.simd import FLOATS, INTEGERS, broadcast, constant, load

LEVELS = (0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12)
"""Twice the values of E2M1."""

_PLACES = (15, 14, 13, 12, 11, 10, 9, 0, 1, 2, 3, 4, 5, 6, 7)  # of the levels in ascending order, zero once
_nearest_place = make_nearest(tuple(LEVELS[place] for place in _PLACES), _PLACES)

BLOCK_SIZE = 2 * PART_SIZE
EXPONENT_BITS = 23  # a float32's exponent is above its fraction
LARGEST_EXPONENT = 3  # of a level: 8 and 12 are 1.0 and 1.5 times 2^3

_TABLE = np.array(LEVELS, np.float32)


@kept_njit(error_model="numpy", nogil=True)
def _pack(weights: Any, values: Any, places: Any, target: Any) -> None:
    num_rows, num_columns = weights.shape
    num_groups = (num_columns + GROUP_SIZE - 1) // GROUP_SIZE
    block_bytes = HEADER_BYTES + num_groups * GROUP_BYTES
    for row in range((num_rows + OUTPUTS - 1) // OUTPUTS * OUTPUTS):
        for k in range(num_columns):
            values[k] = weights[row, k] if row < num_rows else np.float32(0)
        block, lane = row // OUTPUTS * block_bytes, row % OUTPUTS
        store_float(target, block + 4 * lane, np.float32(1))
        for part in range(num_groups * PARTS):
            first = part * PART_SIZE // BLOCK_SIZE * BLOCK_SIZE
            peak = np.float32(0)
            for k in range(first, first + BLOCK_SIZE):
                peak = max(peak, abs(values[k]))
            exponent = (np.float32(peak).view(np.int32) >> EXPONENT_BITS) - LARGEST_EXPONENT
            if exponent < 0:
                exponent = np.int32(0)
            inverse = np.int32((254 - exponent if exponent > 0 else 0) << EXPONENT_BITS).view(np.float32)
            in_units = load(values, part * PART_SIZE) * broadcast(inverse)
            store_quads(places, 0, 4, _nearest_place(in_units), np.int32(0))
            group = block + HEADER_BYTES + part // PARTS * GROUP_BYTES
            target[group + part % PARTS * OUTPUTS + lane] = exponent
            write = group + QUADS_START + part % PARTS * (QUADS // PARTS) * QUAD_BYTES + 4 * lane
            for pair in range(PART_SIZE // 8):
                for k in range(4):
                    low, high = places[8 * pair + k], places[8 * pair + 4 + k]
                    target[write + 2 * QUAD_BYTES * pair + k] = low | high << 4


def _pack_mxfp4(weights: NDArray[np.float32], target: NDArray[np.uint8]) -> None:
    values = aligned_zeros((LAYOUT.num_groups(weights.shape[1]) * GROUP_SIZE,), np.float32)
    _pack(weights, values, aligned_zeros((PART_SIZE,), np.uint8), target)


def _load_scales(builder: ir.IRBuilder, group: ir.Value, part: int) -> ir.Value:
    """Powers of two, by their exponents; 0 for an exponent of 0."""
    exponents = builder.zext(load_scale_bytes(builder, group, part), INTEGERS)
    return builder.bitcast(builder.shl(exponents, constant(INTEGERS, EXPONENT_BITS)), FLOATS)


def _decode_row(weights: Any, matrix: Any, index: int, out: Any, out_start: int) -> None:
    num_groups = (matrix.num_columns + GROUP_SIZE - 1) // GROUP_SIZE
    block, lane = index // OUTPUTS, index % OUTPUTS
    start = matrix.start + block * (HEADER_BYTES + num_groups * GROUP_BYTES)
    for group in range(num_groups):
        group_start = start + HEADER_BYTES + group * GROUP_BYTES
        for k in range(GROUP_SIZE):
            exponent = np.int32(weights.data[group_start + k // PART_SIZE * OUTPUTS + lane])
            pair = group_start + QUADS_START + k // 8 * 2 * QUAD_BYTES
            place = weights.data[pair + 4 * lane + k % 4] >> k % 8 // 4 * 4 & 15
            scale = np.int32(exponent << EXPONENT_BITS).view(np.float32)
            out[out_start + group * GROUP_SIZE + k] = _TABLE[place] * scale


MXFP4 = make_formats("mxfp4", LAYOUT, _pack_mxfp4, make_four_bit_kernels(LEVELS, _load_scales, _decode_row))

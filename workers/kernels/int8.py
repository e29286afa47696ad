"""Weights as int8 with a float32 scale for each group of 64 inputs.

They are kept unsigned, w + 128, because that is what most dot-product instructions multiply with signed inputs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

from cactus_actors.workers.kernels.aligned_memory import aligned_zeros
from cactus_actors.workers.kernels.amx_tiles import make_amx_matmul
from cactus_actors.workers.kernels.byte_access import load_float, store_float
from cactus_actors.workers.kernels.compile_cache import kept_njit
from cactus_actors.workers.kernels.instruction_sets import InstructionSet
from cactus_actors.workers.kernels.integer_tiles import QUADS, IntegerWeights, make_integer_reduce
from cactus_actors.workers.kernels.matrix import BlockLayout, Kernels, make_formats
from cactus_actors.workers.kernels.quantised_rows import (
    GROUP_SIZE,
    SMALLEST_GROUP,
    largest_of_group,
    make_write_group,
    store_quads,
)
from cactus_actors.workers.kernels.row_encoding import make_encode_row
from cactus_actors.workers.kernels.simd import FLOATS, I8, broadcast, constant, load
from cactus_actors.workers.kernels.tiles import at, make_matmul

OUTPUTS = 16
ZERO_POINT = 128
SCALES_BYTES = OUTPUTS * 4
QUAD_BYTES = OUTPUTS * 4
GROUP_BYTES = SCALES_BYTES + QUADS * QUAD_BYTES
FRACTION = (1 << 23) - 1  # bits of a float32
LAYOUT = BlockLayout(OUTPUTS, GROUP_SIZE, GROUP_BYTES, row_group_bytes=8 + GROUP_SIZE)
"""A block's group: 16 float32 scales, then [16 quads of inputs][16 outputs][4 inputs]."""


@kept_njit(error_model="numpy", nogil=True)
def _pack(weights: Any, scratch: Any, target: Any, in_powers: bool) -> None:
    num_rows, num_columns = weights.shape
    num_groups = (num_columns + GROUP_SIZE - 1) // GROUP_SIZE
    flat = weights.reshape(-1)
    for row in range((num_rows + OUTPUTS - 1) // OUTPUTS * OUTPUTS):
        block, lane = row // OUTPUTS, row % OUTPUTS
        for group in range(num_groups):
            source, start = flat, row * num_columns + group * GROUP_SIZE
            count = min(num_columns - group * GROUP_SIZE, GROUP_SIZE) if row < num_rows else 0
            if count < GROUP_SIZE:
                for k in range(GROUP_SIZE):  # an assignment of slices takes 2 s to compile
                    scratch[k] = 0
                for k in range(count):
                    scratch[k] = flat[start + k]
                source, start = scratch, 0
            peak = largest_of_group(source, start)
            if peak < SMALLEST_GROUP:
                peak = np.float32(0)
            inverse, scale = np.float32(127) / peak if peak > 0 else np.float32(0), peak / np.float32(127)
            if in_powers and peak > 0:
                # A power of two in 1/127 to 2/127 of the peak.
                bits = np.float32(scale).view(np.int32)
                scale = np.int32((bits + FRACTION) & ~FRACTION).view(np.float32)
                inverse = np.float32(1) / scale
            write = (block * num_groups + group) * GROUP_BYTES + 4 * lane
            store_float(target, write, scale)
            for k in range(0, GROUP_SIZE, 16):
                values = load(source, start + k) * broadcast(inverse)
                quad = write + SCALES_BYTES + k // 4 * QUAD_BYTES
                store_quads(target, quad, QUAD_BYTES, values, np.int32(ZERO_POINT))


def _pack_int8(weights: NDArray[np.float32], target: NDArray[np.uint8]) -> None:
    _pack(weights, aligned_zeros((GROUP_SIZE,), np.float32), target, False)


def _pack_in_powers(weights: NDArray[np.float32], target: NDArray[np.uint8]) -> None:
    _pack(weights, aligned_zeros((GROUP_SIZE,), np.float32), target, True)


def _load_scales(builder: ir.IRBuilder, group: ir.Value, part: int) -> ir.Value:
    return builder.load(at(builder, group, part * SCALES_BYTES, FLOATS), align=64)


def _make_load_quads(zero_point: int) -> Callable[[ir.IRBuilder, ir.Value, int], list[ir.Value]]:
    vector = ir.VectorType(I8, QUAD_BYTES)

    def load_quads(builder: ir.IRBuilder, quads: ir.Value, count: int) -> list[ir.Value]:
        loaded = [builder.load(at(builder, quads, quad * QUAD_BYTES, vector), align=64) for quad in range(count)]
        # To subtract 128 from a byte is to change its sign bit.
        return loaded if zero_point else [builder.xor(each, constant(vector, ZERO_POINT)) for each in loaded]

    return load_quads


def _decode_row(weights: Any, matrix: Any, index: int, out: Any, out_start: int) -> None:
    num_groups = (matrix.num_columns + GROUP_SIZE - 1) // GROUP_SIZE
    block, lane = index // OUTPUTS, index % OUTPUTS
    for group in range(num_groups):
        start = matrix.start + (block * num_groups + group) * GROUP_BYTES + 4 * lane
        scale = load_float(weights.data, start)
        for k in range(GROUP_SIZE):
            unsigned = weights.data[start + SCALES_BYTES + k // 4 * QUAD_BYTES + k % 4]
            out[out_start + group * GROUP_SIZE + k] = np.float32(np.int32(unsigned) - ZERO_POINT) * scale


def _make_kernels(instructions: InstructionSet) -> Kernels:
    zero_point = instructions.zero_point
    weights = IntegerWeights(LAYOUT, 1, QUAD_BYTES, _load_scales, _make_load_quads(zero_point))
    # Hardware prefetch ends at a page.
    matmul = make_matmul(make_integer_reduce(weights, instructions), LAYOUT, instructions, ahead_of_lone_row=4096)
    if instructions.amx_rows:
        matmul = make_amx_matmul(weights, SCALES_BYTES, matmul)
    height = max(instructions.max_height, instructions.amx_rows)
    encode_row = make_encode_row(LAYOUT, height, make_write_group(1, zero_point), instructions.max_height)
    return Kernels(encode_row, matmul, _decode_row)


INT8 = make_formats("int8", LAYOUT, _pack_int8, _make_kernels, uses_amx=True)
INT8_IN_POWERS = {instructions: chosen.packed_by(_pack_in_powers) for instructions, chosen in INT8.items()}
"""int8 with powers of two as scales. Weights in MXFP4 are exact if the scales of the two blocks in a group of 64 differ
by a factor of 8 at most; else weights of the smaller scale are rounded."""

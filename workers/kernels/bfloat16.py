"""Weights as bfloat16, the upper half of a float32; products and sums are float32."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

from cactus_actors.workers.kernels.byte_access import load_bfloat
from cactus_actors.workers.kernels.float_tiles import make_encode_row, make_float_reduce
from cactus_actors.workers.kernels.instruction_sets import InstructionSet
from cactus_actors.workers.kernels.matrix import WIDTH_MULTIPLE, BlockLayout, Kernels, make_formats
from cactus_actors.workers.kernels.simd import FLOATS, INTEGERS, constant
from cactus_actors.workers.kernels.tiles import at, make_matmul

OUTPUTS = 16
INPUTS = 16
PAIR_BYTES = OUTPUTS * 4
LAYOUT = BlockLayout(OUTPUTS, INPUTS, INPUTS // 2 * PAIR_BYTES, row_group_bytes=INPUTS * 4)
"""A block's group: [8 pairs of inputs][16 outputs][2 inputs]."""


def _pack(weights: NDArray[np.float32], target: NDArray[np.uint8]) -> None:
    num_columns = weights.shape[1]
    num_pairs = LAYOUT.num_groups(num_columns) * INPUTS // 2
    for block, part in enumerate(target.view(np.uint16).reshape(-1, num_pairs, OUTPUTS, 2)):
        bits = weights[block * OUTPUTS : (block + 1) * OUTPUTS].view(np.uint32)
        # To the nearest, ties to even; weights are finite.
        rounded = ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)
        padded = np.zeros((OUTPUTS, 2 * num_pairs), np.uint16)
        padded[: len(bits), :num_columns] = rounded
        part[...] = padded.reshape(OUTPUTS, num_pairs, 2).swapaxes(0, 1)


def _load_weights(builder: ir.IRBuilder, weights: ir.Value, count: int) -> list[ir.Value]:
    loaded = []
    for pair in range(count // 2):
        both = builder.load(at(builder, weights, PAIR_BYTES * pair, INTEGERS), align=64)
        loaded.append(builder.bitcast(builder.shl(both, constant(INTEGERS, 16)), FLOATS))
        loaded.append(builder.bitcast(builder.and_(both, constant(INTEGERS, 0xFFFF0000)), FLOATS))
    return loaded


def _decode_row(weights: Any, matrix: Any, index: int, out: Any, out_start: int) -> None:
    depth = (matrix.num_columns + INPUTS - 1) // INPUTS * INPUTS
    start = matrix.start + index // OUTPUTS * depth // 2 * PAIR_BYTES + index % OUTPUTS * 4
    for k in range(depth):
        out[out_start + k] = load_bfloat(weights.data, start + k // 2 * PAIR_BYTES + k % 2 * 2)
    for k in range(depth, (depth + WIDTH_MULTIPLE - 1) // WIDTH_MULTIPLE * WIDTH_MULTIPLE):
        out[out_start + k] = np.float32(0)


def _make_kernels(instructions: InstructionSet) -> Kernels:
    return Kernels(
        make_encode_row(LAYOUT, instructions.max_height),
        make_matmul(make_float_reduce(LAYOUT, _load_weights), LAYOUT, instructions),
        _decode_row,
    )


BFLOAT16 = make_formats("bfloat16", LAYOUT, _pack, _make_kernels)

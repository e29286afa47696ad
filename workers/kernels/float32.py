"""Weights as float32, as they come."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

from cactus_actors.workers.kernels.byte_access import load_float
from cactus_actors.workers.kernels.float_tiles import make_encode_row, make_float_reduce
from cactus_actors.workers.kernels.instruction_sets import InstructionSet
from cactus_actors.workers.kernels.matrix import WIDTH_MULTIPLE, BlockLayout, Kernels, make_formats
from cactus_actors.workers.kernels.simd import FLOATS
from cactus_actors.workers.kernels.tiles import at, make_matmul

OUTPUTS = 16
INPUTS = 16
INPUT_BYTES = OUTPUTS * 4
LAYOUT = BlockLayout(OUTPUTS, INPUTS, INPUTS * INPUT_BYTES, row_group_bytes=INPUTS * 4)
"""A block's group: [16 inputs][16 outputs]."""


def _pack(weights: NDArray[np.float32], target: NDArray[np.uint8]) -> None:
    num_columns = weights.shape[1]
    blocks = target.view(np.float32).reshape(-1, LAYOUT.num_groups(num_columns) * INPUTS, OUTPUTS)
    for block, part in enumerate(blocks):
        rows = weights[block * OUTPUTS : (block + 1) * OUTPUTS]
        part[:num_columns, : len(rows)] = rows.T
        part[:num_columns, len(rows) :] = 0
        part[num_columns:] = 0


def _load_weights(builder: ir.IRBuilder, weights: ir.Value, count: int) -> list[ir.Value]:
    return [builder.load(at(builder, weights, INPUT_BYTES * k, FLOATS), align=64) for k in range(count)]


def _decode_row(weights: Any, matrix: Any, index: int, out: Any, out_start: int) -> None:
    depth = (matrix.num_columns + INPUTS - 1) // INPUTS * INPUTS
    start = matrix.start + index // OUTPUTS * depth * INPUT_BYTES + index % OUTPUTS * 4
    for k in range(depth):
        out[out_start + k] = load_float(weights.data, start + INPUT_BYTES * k)
    for k in range(depth, (depth + WIDTH_MULTIPLE - 1) // WIDTH_MULTIPLE * WIDTH_MULTIPLE):
        out[out_start + k] = np.float32(0)


def _make_kernels(instructions: InstructionSet) -> Kernels:
    return Kernels(
        make_encode_row(LAYOUT, instructions.max_height),
        make_matmul(make_float_reduce(LAYOUT, _load_weights), LAYOUT, instructions),
        _decode_row,
    )


FLOAT32 = make_formats("float32", LAYOUT, _pack, _make_kernels)

"""Weights and rows as int8 with a scale for each group of 64: integer sums inside a group, floats across.

A row is quantised when it is encoded, each group by its own largest value. Weights are kept unsigned,
w + 128, because that is what dot-product instructions multiply with signed inputs; the sum of a group
starts at -128 times the sum of the row's integers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

from workers.kernels.arena import load_float
from workers.kernels.instruction_sets import InstructionSet
from workers.kernels.matrix import Kernels, Layout, weights_types
from workers.kernels.memory import round_up
from workers.kernels.quantised_rows import make_encode_row
from workers.kernels.tiles import (
    Reduce,
    at,
    counted,
    index,
    make_matmul,
    make_num_blocks,
    variables,
)
from workers.kernels.vectors import F32, FLOATS, I8, I32, INTEGERS, constant, multiply_add, splat
from workers.weights.quantize import GROUP_SIZE, quantize_int8

OUTPUTS = 16
QUADS = GROUP_SIZE // 4
SCALES_BYTES = OUTPUTS * 4
QUAD_BYTES = OUTPUTS * 4
ZERO_POINT = 128
CHAINS = 8
"""A tile keeps at least this many integer sums, because one would wait for each dot product."""

LAYOUT = Layout(OUTPUTS, GROUP_SIZE, SCALES_BYTES + QUADS * QUAD_BYTES, 8 + GROUP_SIZE)
"""A block's group: 16 float32 scales, then [16 quads of inputs][16 outputs][4 inputs] of w + 128.

A group of a tile of h rows: h float32 scales, h int32 corrections, then [16 quads][h rows][4 inputs]."""


@dataclass(frozen=True)
class Int8Format:
    """Weights rounded to int8 in groups of 64 inputs."""

    instruction_set: InstructionSet
    name: str = "int8"

    @property
    def kernels(self) -> str:
        """The instruction set in use."""
        return self.instruction_set.name

    def num_bytes(self, num_rows: int, num_columns: int) -> int:
        """Packed size of a weight."""
        return LAYOUT.num_bytes(num_rows, num_columns)

    def row_bytes(self, num_columns: int) -> int:
        """Size of one encoded row."""
        return LAYOUT.row_bytes(num_columns)

    def wrap(self, data: NDArray[np.uint8]) -> Any:
        """The arena as compiled code takes it."""
        return TYPES[self.instruction_set.name](data)

    def pack(self, weights: NDArray[np.float32], target: NDArray[np.uint8]) -> None:
        """Quantise and pack, some thousand weight rows at a time to bound the memory it takes."""
        num_groups = LAYOUT.num_groups(weights.shape[1])
        blocks = target.reshape(-1, num_groups, LAYOUT.group_bytes)
        rows_at_once = 128 * OUTPUTS
        for first in range(0, len(weights), rows_at_once):
            values, scales = quantize_int8(weights[first : first + rows_at_once])
            num_blocks = round_up(len(values), OUTPUTS) // OUTPUTS
            missing = num_blocks * OUTPUTS - len(values)
            values = np.pad(values, ((0, missing), (0, 0))).reshape(num_blocks, OUTPUTS, num_groups, QUADS, 4)
            scales = np.pad(scales, ((0, missing), (0, 0))).reshape(num_blocks, OUTPUTS, num_groups)
            part = blocks[first // OUTPUTS : first // OUTPUTS + num_blocks]
            part[:, :, :SCALES_BYTES].view(np.float32)[...] = scales.swapaxes(1, 2)
            part[:, :, SCALES_BYTES:] = (
                (values.view(np.uint8) ^ 0x80).transpose(0, 2, 3, 1, 4).reshape(num_blocks, num_groups, -1)
            )


def _make_reduce(instructions: InstructionSet) -> Reduce:
    def reduce(
        builder: ir.IRBuilder, height: int, blocks: list[ir.Value], rows: ir.Value, num_groups: ir.Value
    ) -> list[list[ir.Value]]:
        width = len(blocks)
        num_chains = max(1, CHAINS // (height * width))
        totals = [variables(builder, constant(FLOATS, 0.0), width) for _ in range(height)]
        with counted(builder, num_groups, 1) as (group, _):
            inputs = at(builder, rows, builder.mul(group, index(LAYOUT.row_group_bytes * height)), I8)
            weights = [
                at(builder, block, builder.mul(group, index(LAYOUT.group_bytes)), I8) for block in blocks
            ]
            sums = [
                [variables(builder, constant(INTEGERS, 0), num_chains) for _ in blocks] for _ in range(height)
            ]
            for row, chains in enumerate(sums):
                correction = builder.load(at(builder, inputs, 4 * (height + row), I32), align=4)
                for block in range(width):
                    builder.store(splat(builder, correction, OUTPUTS), chains[block][0])
            with counted(builder, index(QUADS), instructions.unroll) as (first_quad, _):
                quad_weights = [
                    at(builder, block, builder.mul(first_quad, index(QUAD_BYTES)), I8) for block in weights
                ]
                quad_inputs = at(builder, inputs, builder.mul(first_quad, index(4 * height)), I8)
                for step in range(instructions.unroll):
                    packed = [
                        builder.load(
                            at(
                                builder,
                                block,
                                SCALES_BYTES + step * QUAD_BYTES,
                                ir.VectorType(I8, QUAD_BYTES),
                            ),
                            align=64,
                        )
                        for block in quad_weights
                    ]
                    for row, chains in enumerate(sums):
                        four = builder.load(
                            at(builder, quad_inputs, (8 + 4 * step) * height + 4 * row, I32), align=4
                        )
                        for block in range(width):
                            chain = chains[block][step % num_chains]
                            total = instructions.dot(builder, builder.load(chain), four, packed[block])
                            builder.store(total, chain)
            scales = [builder.load(at(builder, block, 0, FLOATS), align=64) for block in weights]
            for row, chains in enumerate(sums):
                row_scale = builder.load(at(builder, inputs, 4 * row, F32), align=4)
                for block in range(width):
                    integer = builder.load(chains[block][0])
                    for chain in chains[block][1:]:
                        integer = builder.add(integer, builder.load(chain))
                    scale = builder.fmul(scales[block], splat(builder, row_scale, OUTPUTS))
                    total = totals[row][block]
                    real = builder.sitofp(integer, FLOATS)
                    builder.store(multiply_add(builder, real, scale, builder.load(total)), total)
        return [[builder.load(total) for total in row] for row in totals]

    return reduce


def _make_decode_row() -> Any:
    outputs, inputs, group_bytes = LAYOUT.outputs, LAYOUT.inputs, LAYOUT.group_bytes
    scales_bytes, quad_bytes = SCALES_BYTES, QUAD_BYTES

    def decode_row(weights: Any, matrix: Any, index: int, out: Any, out_start: int) -> None:
        num_groups = (matrix.num_columns + inputs - 1) // inputs
        block, lane = index // outputs, index % outputs
        for group in range(num_groups):
            start = matrix.start + (block * num_groups + group) * group_bytes
            scale = load_float(weights.data, start + 4 * lane)
            for k in range(inputs):
                byte = weights.data[start + scales_bytes + k // 4 * quad_bytes + 4 * lane + k % 4]
                out[out_start + group * inputs + k] = np.float32(np.int32(byte) - 128) * scale

    return decode_row


def _make_kernels(instructions: InstructionSet) -> Kernels:
    return Kernels(
        encode_row=make_encode_row(LAYOUT, instructions.max_height, ZERO_POINT),
        matmul=make_matmul(
            _make_reduce(instructions), LAYOUT, instructions.max_height, instructions.max_width
        ),
        decode_row=_make_decode_row(),
        num_blocks=make_num_blocks(LAYOUT),
    )


TYPES = weights_types("int8", _make_kernels)

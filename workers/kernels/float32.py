# ruff: noqa: ARG001 - numba matches arguments by the names of all parameters, used or not
"""Weights as float32: an element is one chain of multiply-adds over k = 0, 1, 2, ..."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

from workers.kernels.arena import load_float, store_float
from workers.kernels.instruction_sets import InstructionSet
from workers.kernels.matrix import Kernels, Layout, weights_types
from workers.kernels.tiles import (
    Reduce,
    at,
    counted,
    index,
    make_find_tile,
    make_matmul,
    make_num_blocks,
    variables,
)
from workers.kernels.vectors import F32, FLOATS, I8, constant, multiply_add, splat

OUTPUTS = 16
INPUTS = 16
UNROLL = 4  # divides INPUTS
LAYOUT = Layout(OUTPUTS, INPUTS, INPUTS * OUTPUTS * 4, INPUTS * 4)
"""A block's group: [16 inputs][16 outputs]. A group of a tile of h rows: [16 inputs][h rows]."""


@dataclass(frozen=True)
class Float32Format:
    """Weights as they come."""

    instruction_set: InstructionSet
    name: str = "float32"

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
        """Transpose blocks of weight rows."""
        num_rows, num_columns = weights.shape
        depth = LAYOUT.num_groups(num_columns) * INPUTS
        for block, part in enumerate(target.view(np.float32).reshape(-1, depth, OUTPUTS)):
            rows = weights[block * OUTPUTS : min((block + 1) * OUTPUTS, num_rows)]
            part[:num_columns, : len(rows)] = rows.T
            part[:num_columns, len(rows) :] = 0
            part[num_columns:] = 0


LoadWeights = Callable[[ir.IRBuilder, ir.Value, int], list[ir.Value]]
"""(builder, pointer to a block's weights from some k on, count) -> the weights of `count` inputs as floats."""


def make_float_reduce(layout: Layout, load_weights: LoadWeights) -> Reduce:
    """Tiles of float32 rows and of weights that become float32 when they are loaded."""

    def reduce(
        builder: ir.IRBuilder, height: int, blocks: list[ir.Value], rows: ir.Value, num_groups: ir.Value
    ) -> list[list[ir.Value]]:
        totals = [variables(builder, constant(FLOATS, 0.0), len(blocks)) for _ in range(height)]
        with counted(builder, builder.mul(num_groups, index(layout.inputs)), UNROLL) as (first, _):
            inputs = at(builder, rows, builder.mul(first, index(4 * height)), I8)
            offset = builder.mul(first, index(layout.group_bytes // layout.inputs))
            weights = [load_weights(builder, at(builder, block, offset, I8), UNROLL) for block in blocks]
            for k in range(UNROLL):
                for row in range(height):
                    factor = builder.load(at(builder, inputs, 4 * (k * height + row), F32), align=4)
                    factor = splat(builder, factor, OUTPUTS)
                    for total, lanes in zip(totals[row], weights, strict=True):
                        builder.store(multiply_add(builder, factor, lanes[k], builder.load(total)), total)
        return [[builder.load(total) for total in row] for row in totals]

    return reduce


def _load_weights(builder: ir.IRBuilder, weights: ir.Value, count: int) -> list[ir.Value]:
    return [builder.load(at(builder, weights, 4 * OUTPUTS * k, FLOATS), align=64) for k in range(count)]


def make_float_encode_row(layout: Layout, max_height: int) -> Callable[..., None]:
    """An implementation of `encode_row` for rows that stay float32."""
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
        write = rows_start + first * num_groups * row_group_bytes + 4 * (row - first)
        for k in range(num_groups * inputs):
            store_float(rows, write + 4 * k * height, source[source_start + k])

    return encode_row


def _decode_row(weights: Any, matrix: Any, index: int, out: Any, out_start: int) -> None:
    depth = (matrix.num_columns + 15) // 16 * 16
    start = matrix.start + index // 16 * depth * 64 + index % 16 * 4
    for k in range(depth):
        out[out_start + k] = load_float(weights.data, start + 64 * k)
    for k in range(depth, (depth + 63) // 64 * 64):
        out[out_start + k] = np.float32(0)


def _make_kernels(instructions: InstructionSet) -> Kernels:
    reduce, height = make_float_reduce(LAYOUT, _load_weights), instructions.max_height
    return Kernels(
        encode_row=make_float_encode_row(LAYOUT, height),
        matmul=make_matmul(reduce, LAYOUT, height, instructions.max_width),
        decode_row=_decode_row,
        num_blocks=make_num_blocks(LAYOUT),
    )


TYPES = weights_types("float32", _make_kernels)

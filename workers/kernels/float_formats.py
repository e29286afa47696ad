"""Weights as float32, or as bfloat16, the upper half of a float32; products and sums are float32."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

from cactus_actors.workers.kernels.byte_access import load_bfloat, load_float
from cactus_actors.workers.kernels.float_tiles import INPUTS, LoadWeights, make_float_reduce, write_group
from cactus_actors.workers.kernels.instruction_sets import InstructionSet
from cactus_actors.workers.kernels.matrix import WIDTH_MULTIPLE, BlockLayout, Kernels, PackedFormat, make_formats
from cactus_actors.workers.kernels.row_encoding import make_encode_row
from cactus_actors.workers.kernels.simd import FLOATS, INTEGERS, constant
from cactus_actors.workers.kernels.tiles import at, make_matmul

OUTPUTS = 16
LINE_BYTES = OUTPUTS * 4


def _as_bfloat16(weights: NDArray[np.float32]) -> NDArray[Any]:
    """The nearest bfloat16 numbers, ties to even, as their bits; weights are finite."""
    bits = weights.view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def _load_float32(builder: ir.IRBuilder, weights: ir.Value, count: int) -> list[ir.Value]:
    return [builder.load(at(builder, weights, LINE_BYTES * k, FLOATS), align=64) for k in range(count)]


def _load_bfloat16(builder: ir.IRBuilder, weights: ir.Value, count: int) -> list[ir.Value]:
    loaded = []
    for pair in range(count // 2):
        both = builder.load(at(builder, weights, LINE_BYTES * pair, INTEGERS), align=64)
        loaded.append(builder.bitcast(builder.shl(both, constant(INTEGERS, 16)), FLOATS))
        loaded.append(builder.bitcast(builder.and_(both, constant(INTEGERS, 0xFFFF0000)), FLOATS))
    return loaded


def _make_float_formats(
    name: str,
    line_inputs: int,
    as_stored: Callable[[NDArray[np.float32]], NDArray[Any]],
    load_number: Any,
    load_weights: LoadWeights,
) -> dict[InstructionSet, PackedFormat]:
    """A format whose block's group is [16 / line_inputs lines][16 outputs][line_inputs inputs]."""
    layout = BlockLayout(OUTPUTS, INPUTS, INPUTS // line_inputs * LINE_BYTES, row_group_bytes=INPUTS * 4)
    number_bytes = 4 // line_inputs

    def pack(weights: NDArray[np.float32], target: NDArray[np.uint8]) -> None:
        num_columns = weights.shape[1]
        num_lines = layout.num_groups(num_columns) * INPUTS // line_inputs
        blocks = target.view(f"u{number_bytes}").reshape(-1, num_lines, OUTPUTS, line_inputs)
        for block, part in enumerate(blocks):
            stored = as_stored(weights[block * OUTPUTS : (block + 1) * OUTPUTS])
            padded = np.zeros((OUTPUTS, num_lines * line_inputs), part.dtype)
            padded[: len(stored), :num_columns] = stored
            part[...] = padded.reshape(OUTPUTS, num_lines, line_inputs).swapaxes(0, 1)

    def decode_row(weights: Any, matrix: Any, index: int, out: Any, out_start: int) -> None:
        depth = (matrix.num_columns + INPUTS - 1) // INPUTS * INPUTS
        start = matrix.start + index // OUTPUTS * depth // line_inputs * LINE_BYTES + index % OUTPUTS * 4
        for k in range(depth):
            place = start + k // line_inputs * LINE_BYTES + k % line_inputs * number_bytes
            out[out_start + k] = load_number(weights.data, place)
        for k in range(depth, (depth + WIDTH_MULTIPLE - 1) // WIDTH_MULTIPLE * WIDTH_MULTIPLE):
            out[out_start + k] = np.float32(0)

    def make_kernels(instructions: InstructionSet) -> Kernels:
        matmul = make_matmul(make_float_reduce(layout, load_weights), layout, instructions)
        return Kernels(make_encode_row(layout, instructions.max_height, write_group), matmul, decode_row)

    return make_formats(name, layout, pack, make_kernels)


FLOAT32 = _make_float_formats("float32", 1, lambda weights: weights.view(np.uint32), load_float, _load_float32)
BFLOAT16 = _make_float_formats("bfloat16", 2, _as_bfloat16, load_bfloat, _load_bfloat16)

# ruff: noqa: ARG001 - numba matches arguments by the names of all parameters, used or not
"""Weights as four bits, indices into a table of sixteen levels, with a scale byte for each part of 16 inputs and a
float32 scale for each output."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

from llvmlite import ir

from cactus_actors.workers.kernels.instruction_sets import InstructionSet
from cactus_actors.workers.kernels.integer_tiles import QUADS, IntegerWeights, make_integer_reduce
from cactus_actors.workers.kernels.matrix import BlockLayout, Kernels
from cactus_actors.workers.kernels.quantised_rows import GROUP_SIZE, make_write_group
from cactus_actors.workers.kernels.row_encoding import make_encode_row
from cactus_actors.workers.kernels.simd import FLOATS, I8, constant, primitive, vector
from cactus_actors.workers.kernels.tiles import at, make_matmul

OUTPUTS = 16
PARTS = 4
PART_SIZE = GROUP_SIZE // PARTS
HEADER_BYTES = OUTPUTS * 4
QUAD_BYTES = OUTPUTS * 2
QUADS_START = PARTS * OUTPUTS
GROUP_BYTES = QUADS_START + QUADS * QUAD_BYTES
LAYOUT = BlockLayout(
    OUTPUTS, GROUP_SIZE, GROUP_BYTES, row_group_bytes=4 + 4 * PARTS + GROUP_SIZE, header_bytes=HEADER_BYTES
)
"""A block: 16 float32 scales, then its groups. A group: [4 parts][16 scales], then [8 pairs of quads]
[16 outputs][4 inputs]; a byte holds an input of the pair's first quad in its lower half and one of the
second quad in its upper half."""


def make_nearest(levels: tuple[int, ...], results: tuple[int, ...]) -> Any:
    """A function of compiled code: the result that belongs to the nearest of ascending levels."""

    @primitive
    def nearest(typing: Any, value: Any) -> Any:
        """The result that belongs to the nearest level."""

        def generate(context: Any, builder: ir.IRBuilder, _sig: Any, values: Any) -> ir.Value:
            chosen = constant(FLOATS, results[0])
            for (low, high), result in zip(pairwise(levels), results[1:], strict=True):
                is_above = builder.fcmp_ordered(">", values[0], constant(FLOATS, (low + high) / 2))
                chosen = builder.select(is_above, constant(FLOATS, result), chosen)
            return chosen

        return vector(vector), generate

    return nearest


def load_scale_bytes(builder: ir.IRBuilder, group: ir.Value, part: int) -> ir.Value:
    """The scale bytes of a part, one for each output."""
    return builder.load(at(builder, group, part * OUTPUTS, ir.VectorType(I8, OUTPUTS)), align=16)


def make_four_bit_kernels(
    levels: tuple[int, ...],
    load_scales: Callable[[ir.IRBuilder, ir.Value, int], ir.Value],
    decode_row: Callable[..., None],
) -> Callable[[InstructionSet], Kernels]:
    """The kernels for an instruction set; `levels` are those of the indices 0 to 15."""

    def make_kernels(instructions: InstructionSet) -> Kernels:
        zero_point = instructions.zero_point
        table = ir.Constant(ir.VectorType(I8, len(levels)), [level + zero_point for level in levels])

        def load_quads(builder: ir.IRBuilder, quads: ir.Value, count: int) -> list[ir.Value]:
            loaded, vector_type = [], ir.VectorType(I8, 2 * QUAD_BYTES)
            for pair in range(count // 2):
                both = builder.load(at(builder, quads, pair * 2 * QUAD_BYTES, vector_type), align=64)
                # Shifted as pairs of bytes: for single bytes LLVM takes a multiplier's turn.
                pairs = builder.bitcast(both, ir.VectorType(ir.IntType(16), QUAD_BYTES))
                upper = builder.bitcast(builder.lshr(pairs, constant(pairs.type, 4)), vector_type)
                low, high = (builder.and_(half, constant(vector_type, 15)) for half in (both, upper))
                loaded += [instructions.look_up(builder, table, places) for places in (low, high)]
            return loaded

        weights = IntegerWeights(LAYOUT, PARTS, QUAD_BYTES, load_scales, load_quads, has_output_scales=True)
        return Kernels(
            make_encode_row(LAYOUT, instructions.max_height, make_write_group(PARTS, zero_point)),
            # Parts keep so many values alive that wider tiles spill.
            make_matmul(make_integer_reduce(weights, instructions), LAYOUT, instructions, max_width=1),
            decode_row,
        )

    return make_kernels

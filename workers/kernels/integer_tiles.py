"""Tiles of int8 rows and unsigned integer weights: integer sums inside a group, floats across groups.

A group is 64 inputs of a row, with one float32 scale, in one or more parts of the weights, each part with
its own scales. A group of a tile of h rows is h scales, then for each part h int32 corrections (minus the
weights' zero point times the sum of the part's integers, where the part's sums start), then
[h rows][64 inputs] as int8: a row's inputs are a cache line where h is 8.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from llvmlite import ir

from cactus_actors.workers.kernels.instruction_sets import InstructionSet
from cactus_actors.workers.kernels.llvm_loops import counted, variables
from cactus_actors.workers.kernels.matrix import BlockLayout
from cactus_actors.workers.kernels.simd import F32, FLOATS, I8, I32, INTEGERS, constant, index, multiply_add, splat
from cactus_actors.workers.kernels.tiles import Reduce, at, fetch_ahead

QUADS = 16
SUMS = 8
"""A tile has at least this many integer sums, because a single one would wait for each dot product."""


@dataclass(frozen=True)
class IntegerWeights:
    """Reads of a group of a block; its quads come last."""

    layout: BlockLayout
    parts: int
    quad_bytes: int
    load_scales: Callable[[ir.IRBuilder, ir.Value, int], ir.Value]
    """(builder, group, part) -> the scales of the outputs."""
    load_quads: Callable[[ir.IRBuilder, ir.Value, int], list[ir.Value]]
    """(builder, quads, count) -> for each of `count` quads [16 outputs][4 inputs], <64 x i8>."""
    has_output_scales: bool = False
    """True if the header of a block is a float32 scale per output, in addition to those of the parts."""


def make_integer_reduce(weights: IntegerWeights, instructions: InstructionSet) -> Reduce:
    """Tiles for an instruction set."""
    layout, parts = weights.layout, weights.parts
    part_quads = QUADS // parts
    unroll = min(instructions.unroll, part_quads)
    first_quad = layout.group_bytes - QUADS * weights.quad_bytes

    def reduce(
        builder: ir.IRBuilder,
        height: int,
        blocks: list[ir.Value],
        rows: ir.Value,
        num_groups: ir.Value,
        ahead: ir.Value | None,
    ) -> list[list[ir.Value]]:
        places = [(row, block) for row in range(height) for block in range(len(blocks))]
        totals = dict(zip(places, variables(builder, [constant(FLOATS, 0.0)] * len(places)), strict=True))
        num_chains = max(1, SUMS // (len(places) * parts))

        def sum_of_part(inputs: ir.Value, groups: list[ir.Value], part: int) -> dict[tuple[int, int], ir.Value]:
            chains = {place: variables(builder, [constant(INTEGERS, 0)] * num_chains) for place in places}
            for row, block in places:
                correction = builder.load(at(builder, inputs, 4 * ((1 + part) * height + row), I32), align=4)
                builder.store(splat(builder, correction, layout.outputs), chains[row, block][0])
            first_input = (4 + 4 * parts) * height + 4 * part_quads * part
            with counted(builder, index(0), index(part_quads), unroll) as (quad, _):
                fours = at(builder, inputs, builder.add(index(first_input), builder.mul(quad, index(4))), I8)
                start = first_quad + part * part_quads * weights.quad_bytes
                offset = builder.add(index(start), builder.mul(quad, index(weights.quad_bytes)))
                quads = [weights.load_quads(builder, at(builder, group, offset, I8), unroll) for group in groups]
                for step in range(unroll):
                    for row, block in places:
                        four = builder.load(at(builder, fours, layout.inputs * row + 4 * step, I32), align=4)
                        chain = chains[row, block][step % num_chains]
                        total = instructions.dot(builder, builder.load(chain), four, quads[block][step])
                        builder.store(total, chain)
            sums = {}
            for place, (first, *others) in chains.items():
                sums[place] = builder.load(first)
                for chain in others:
                    sums[place] = builder.add(sums[place], builder.load(chain))
            return sums

        with counted(builder, index(0), num_groups) as (group, _):
            inputs = at(builder, rows, builder.mul(group, index(layout.row_group_bytes * height)), I8)
            offset = builder.add(builder.mul(group, index(layout.group_bytes)), index(layout.header_bytes))
            groups = [at(builder, block, offset, I8) for block in blocks]
            fetch_ahead(builder, groups[0], ahead, layout.group_bytes)
            values: dict[tuple[int, int], ir.Value] = {}
            for part in range(parts):
                scales = [weights.load_scales(builder, group, part) for group in groups]
                for (row, block), total in sum_of_part(inputs, groups, part).items():
                    real = builder.sitofp(total, FLOATS)
                    values[row, block] = (
                        multiply_add(builder, real, scales[block], values[row, block])
                        if part
                        else builder.fmul(real, scales[block])
                    )
            for (row, block), value in values.items():
                scale = splat(builder, builder.load(at(builder, inputs, 4 * row, F32), align=4), layout.outputs)
                total = totals[row, block]
                builder.store(multiply_add(builder, value, scale, builder.load(total)), total)
        results = {place: builder.load(total) for place, total in totals.items()}
        if weights.has_output_scales:
            scales = [builder.load(at(builder, block, 0, FLOATS), align=64) for block in blocks]
            results = {place: builder.fmul(result, scales[place[1]]) for place, result in results.items()}
        return [[results[row, block] for block in range(len(blocks))] for row in range(height)]

    return reduce

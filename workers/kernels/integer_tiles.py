"""Tiles of int8 rows and unsigned integer weights: integer sums inside a group, floats across groups.

A group is 64 inputs of a row, with one float32 scale, in one or more parts of the weights, each part with
its own scales. A group of a tile of h rows is h scales, then for each part h int32 corrections (minus the
zero point of the instruction set times the sum of the part's integers, where the part's sums start), then
[h rows][64 inputs] as int8: a row's inputs are a cache line where h is 8.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from llvmlite import ir

from cactus_actors.workers.kernels.instruction_sets import InstructionSet, PairDot
from cactus_actors.workers.kernels.llvm_loops import counted, variables
from cactus_actors.workers.kernels.matrix import BlockLayout
from cactus_actors.workers.kernels.simd import (
    F32,
    FLOATS,
    I8,
    I32,
    INDEX,
    INTEGERS,
    LANES,
    constant,
    index,
    multiply_add,
    splat,
)
from cactus_actors.workers.kernels.tiles import Reduce, at, fetch_ahead
from cactus_actors.workers.kernels.vector_parts import select

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

    def reduce(
        builder: ir.IRBuilder,
        height: int,
        blocks: list[ir.Value],
        rows: ir.Value,
        num_groups: ir.Value,
        ahead: ir.Value | None,
    ) -> list[list[ir.Value]]:
        sums = _Sums(builder, weights, instructions, height, len(blocks))
        totals = dict(zip(sums.places, variables(builder, [constant(FLOATS, 0.0)] * len(sums.places)), strict=True))
        with counted(builder, index(0), num_groups) as (group, _):
            inputs = at(builder, rows, builder.mul(group, index(layout.row_group_bytes * height)), I8)
            offset = builder.add(builder.mul(group, index(layout.group_bytes)), index(layout.header_bytes))
            groups = [at(builder, block, offset, I8) for block in blocks]
            fetch_ahead(builder, groups[0], ahead, layout.group_bytes)
            values: dict[tuple[int, int], ir.Value] = {}
            for part in range(parts):
                scales = [weights.load_scales(builder, group, part) for group in groups]
                for (row, block), total in sums.of_part(inputs, groups, part).items():
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


@dataclass(frozen=True)
class _Sums:
    """The integer sums of a tile in a part of a group."""

    builder: ir.IRBuilder
    weights: IntegerWeights
    instructions: InstructionSet
    height: int
    width: int  # blocks

    @property
    def places(self) -> list[tuple[int, int]]:
        """(row, block)."""
        return [(row, block) for row in range(self.height) for block in range(self.width)]

    def of_part(self, inputs: ir.Value, groups: list[ir.Value], part: int) -> dict[tuple[int, int], ir.Value]:
        """The sum of each place, <16 x i32>; `inputs` is the rows' group, `groups` are those of the blocks."""
        pair_dot = self.instructions.pair_dot
        num_paired = self.height // 2 * 2 if pair_dot is not None else 0
        alone = [place for place in self.places if place[0] >= num_paired]
        sums = self._of_rows(alone, inputs, groups, part) if alone else {}
        if pair_dot is not None and num_paired:
            sums |= self._of_pairs(pair_dot, num_paired, inputs, groups, part)
        return sums

    def _of_rows(
        self, places: list[tuple[int, int]], inputs: ir.Value, groups: list[ir.Value], part: int
    ) -> dict[tuple[int, int], ir.Value]:
        builder, height = self.builder, self.height
        num_chains = -(-SUMS // (len(places) * self.weights.parts))
        chains = {place: variables(builder, [constant(INTEGERS, 0)] * num_chains) for place in places}
        for row, block in places if self.instructions.zero_point else ():
            correction = builder.load(at(builder, inputs, 4 * ((1 + part) * height + row), I32), align=4)
            builder.store(splat(builder, correction, LANES), chains[row, block][0])
        with self._quads_of_part(inputs, groups, part) as (fours, quads):
            for step in range(len(quads[0])):
                for row, block in places:
                    four = builder.load(at(builder, fours, self._start_of(row) + 4 * step, I32), align=4)
                    chain = chains[row, block][step % num_chains]
                    total = self.instructions.dot(builder, builder.load(chain), four, quads[block][step])
                    builder.store(total, chain)
        sums = {}
        for place, (first, *others) in chains.items():
            sums[place] = builder.load(first)
            for chain in others:
                sums[place] = builder.add(sums[place], builder.load(chain))
        return sums

    def _of_pairs(
        self, pair_dot: PairDot, num_rows: int, inputs: ir.Value, groups: list[ir.Value], part: int
    ) -> dict[tuple[int, int], ir.Value]:
        """The first rows, two at a time; there are no corrections, as the weights are signed."""
        builder = self.builder
        pairs = [(row, block) for row, block in self.places if row % 2 == 0 and row < num_rows]
        zeros = constant(ir.VectorType(I32, 2 * LANES), 0)
        chains = dict(zip(pairs, variables(builder, [zeros] * len(pairs)), strict=True))
        with self._quads_of_part(inputs, groups, part) as (fours, quads):
            for step in range(0, len(quads[0]), 2):
                eights = [_eight_inputs(builder, low, high) for low, high in (q[step : step + 2] for q in quads)]
                for row, block in pairs:
                    both = ir.Constant(ir.VectorType(INDEX, 2), ir.Undefined)
                    for each in range(2):
                        start = self._start_of(row + each) + 4 * step
                        eight = builder.load(at(builder, fours, start, INDEX), align=4)
                        both = builder.insert_element(both, eight, I32(each))
                    both = builder.bitcast(both, ir.VectorType(I8, 16))
                    total = pair_dot(builder, builder.load(chains[row, block]), both, eights[block])
                    builder.store(total, chains[row, block])
        sums = {}
        for (row, block), chain in chains.items():
            total = builder.load(chain)
            for each in range(2):
                lanes = [4 * (lane // 2) + 2 * each + lane % 2 for lane in range(LANES)]
                sums[row + each, block] = select(builder, total, total, lanes)
        return sums

    @contextmanager
    def _quads_of_part(
        self, inputs: ir.Value, groups: list[ir.Value], part: int
    ) -> Iterator[tuple[ir.Value, list[list[ir.Value]]]]:
        """A loop over some quads at a time: the inputs of the first row, and each block's weights."""
        builder, weights = self.builder, self.weights
        part_quads = QUADS // weights.parts
        unroll = min(self.instructions.unroll, part_quads)
        first_quad = weights.layout.group_bytes - QUADS * weights.quad_bytes + part * part_quads * weights.quad_bytes
        first_input = (4 + 4 * weights.parts) * self.height + 4 * part_quads * part
        with counted(builder, index(0), index(part_quads), unroll) as (quad, _):
            fours = at(builder, inputs, builder.add(index(first_input), builder.mul(quad, index(4))), I8)
            offset = builder.add(index(first_quad), builder.mul(quad, index(weights.quad_bytes)))
            yield fours, [weights.load_quads(builder, at(builder, group, offset, I8), unroll) for group in groups]

    def _start_of(self, row: int) -> int:
        return self.weights.layout.inputs * row


def _eight_inputs(builder: ir.IRBuilder, low: ir.Value, high: ir.Value) -> ir.Value:
    """Two quads [16 outputs][4 inputs] as [16 outputs][8 inputs]."""
    lanes = [lane // 2 + lane % 2 * LANES for lane in range(2 * LANES)]
    low, high = builder.bitcast(low, INTEGERS), builder.bitcast(high, INTEGERS)
    return builder.bitcast(select(builder, low, high, lanes), ir.VectorType(I8, 8 * LANES))

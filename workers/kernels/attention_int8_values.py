# ruff: noqa: ARG001 - numba matches arguments by the names of all parameters, used or not
"""Sums of a tile of attention with values in int8: a chunk's weights are integers in steps of one size."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types

from cactus_actors.workers.kernels.attention_tiles import (
    CHUNK,
    CacheArrays,
    call_shared,
    each_height,
    member_of,
    vector_at,
    wide_vectors,
)
from cactus_actors.workers.kernels.attention_weight_parts import PART_BITS, PARTS, PARTS_FLOATS
from cactus_actors.workers.kernels.cache_formats import TOGETHER, instructions_of
from cactus_actors.workers.kernels.llvm_loops import counted, variables
from cactus_actors.workers.kernels.simd import (
    F32,
    FLOATS,
    I8,
    I32,
    INDEX,
    INTEGERS,
    LANES,
    address,
    constant,
    index,
    multiply_add,
    prefetch,
    primitive,
    splat,
)

QUADS = LANES // TOGETHER
LINE = ir.VectorType(I8, LANES * TOGETHER)
MAX_SUMS = 24 if wide_vectors() > 1 else 4
"""Sums of a tile that stay in registers beside what they are computed from."""


@primitive
def mix_int8(
    typing: Any,
    cache: Any,
    scratch: Any,
    places: Any,  # offset of the chunk's places
    next_places: Any,
    first: Any,  # vectors first..last-1 of the chunk
    last: Any,
    height: Any,
    width: Any,  # of a position's values
    weights: Any,  # offset; (height, CHUNK), see `attention_weight_parts`
    sums: Any,  # offset; (height, width)
) -> Any:
    """sums[row] += weights[row] . values, while the values of the next chunk are fetched.

    Positions that a row does not attend to have the weight 0, and any integers as their values.
    """
    instructions = instructions_of(cache)

    def generate(context: Any, builder: ir.IRBuilder, _sig: Any, given: Any) -> ir.Value:
        cache_value, scratch_value, places, next_places, first, last, height, width, weights, sums = given
        operands = [
            CacheArrays(context, builder, cache, cache_value).data("keys"),
            *(address(context, builder, scratch, scratch_value, each, INDEX) for each in (places, next_places)),
            first,
            last,
            height,
            width,
            *(address(context, builder, scratch, scratch_value, each, F32) for each in (weights, sums)),
        ]
        call_shared(builder, f"cactus_attention_mix_int8_{instructions.name}", operands, write)
        return context.get_dummy_value()

    def write(builder: ir.IRBuilder, *given: ir.Value) -> None:
        stored, places, next_places, first, last, height, width, weights, sums = given

        def emit(rows: int, columns: ir.Value, count: int) -> None:
            # All parts at once, if their sums fit into the registers: values are loaded once.
            at_once = PARTS if rows * count * PARTS <= MAX_SUMS else 1
            tile = [(part, row, column) for part in range(at_once) for row in range(rows) for column in range(count)]
            totals = dict(zip(tile, variables(builder, [constant(INTEGERS, 0)] * len(tile)), strict=True))
            first_byte = builder.mul(columns, index(TOGETHER))
            for first_part in range(0, PARTS, at_once):
                if first_part:
                    for total in totals.values():
                        builder.store(builder.shl(builder.load(total), constant(INTEGERS, PART_BITS)), total)
                with counted(builder, first, last) as (number, _):
                    block, ahead = (
                        builder.gep(stored, [builder.add(member_of(builder, each, number, 1), first_byte)])
                        for each in (places, next_places)
                    )
                    parts = builder.gep(weights, [builder.mul(number, index(QUADS))])
                    with counted(builder, index(0), index(QUADS)) as (quad, _):
                        offset = builder.mul(builder.mul(quad, width), index(TOGETHER))
                        lines = []
                        for column in range(count):
                            here = builder.add(offset, index(column * LINE.count))
                            if first_part == 0:
                                prefetch(builder, builder.gep(ahead, [here]), level=1)
                            line = builder.bitcast(builder.gep(block, [here]), LINE.as_pointer())
                            lines.append(builder.load(line, align=64))
                        own = builder.bitcast(builder.gep(parts, [quad]), I32.as_pointer())
                        for (part, row, column), total in totals.items():
                            if column == 0:
                                at = row * CHUNK + (first_part + part) * CHUNK // 4
                                four = builder.load(builder.gep(own, [index(at)]), align=4)
                            done = instructions.signed_dot(builder, builder.load(total), four, lines[column])
                            builder.store(done, total)
            for row in range(rows):
                step = builder.load(builder.gep(weights, [index(row * CHUNK + PARTS_FLOATS)]), align=4)
                step = splat(builder, step, LANES)
                for column in range(count):
                    total = builder.load(totals[0, row, column])
                    for part in range(1, at_once):
                        total = builder.shl(total, constant(INTEGERS, PART_BITS))
                        total = builder.add(total, builder.load(totals[part, row, column]))
                    at = builder.add(builder.mul(width, index(row)), builder.add(columns, index(column * LANES)))
                    target = vector_at(builder, sums, at)
                    before = builder.load(target, align=4)
                    builder.store(multiply_add(builder, builder.sitofp(total, FLOATS), step, before), target, align=4)

        def whole(rows: int) -> None:
            side = wide_vectors() * LANES
            wide_stop = builder.and_(width, index(-side))
            with counted(builder, index(0), wide_stop, side) as (columns, _):
                emit(rows, columns, wide_vectors())
            if side > LANES:
                with counted(builder, wide_stop, width, LANES) as (columns, _):
                    emit(rows, columns, 1)

        each_height(builder, height, whole)

    return types.void(cache, scratch, *[types.intp] * 8), generate

# ruff: noqa: ARG001 - numba matches arguments by the names of all parameters, used or not
"""Weights of a tile of attention: the softmax of scores, brought up to date chunk by chunk."""

from __future__ import annotations

import math
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from cactus_actors.workers.kernels.attention_tiles import (
    CHUNK,
    CHUNK_VECTORS,
    CacheArrays,
    call_shared,
    member_of,
    smaller_index,
    vector_at,
)
from cactus_actors.workers.kernels.cache_formats import widen
from cactus_actors.workers.kernels.llvm_loops import counted
from cactus_actors.workers.kernels.simd import (
    F32,
    FLOATS,
    I32,
    INDEX,
    INTEGERS,
    LANES,
    address,
    any_lane_of,
    constant,
    index,
    larger_of,
    largest_lane_of,
    power_of_two_of,
    primitive,
    splat,
)


@primitive
def weigh(
    typing: Any,
    cache: Any,
    scratch: Any,
    places: Any,
    chunk: Any,  # its first lane, counted from position 0
    height: Any,
    ranges: Any,  # offset; (height,) records
    scores: Any,  # offset; (height, CHUNK), replaced by weights
    sums: Any,  # offset; (height, width)
    width: Any,
    states: Any,  # offset; (height, 2, LANES): the largest score so far, the sums of weights
) -> Any:
    """weights = 2^(scores - largest) inside the row's range, 0 outside; sums shrink as `largest` grows."""
    scaled = "value_scales" in cache.fields

    def generate(context: Any, builder: ir.IRBuilder, _sig: Any, values: Any) -> ir.Value:
        cache_value, scratch_value, places, chunk, height, ranges, scores, sums, width, states = values
        places, ranges = (
            address(context, builder, scratch, scratch_value, offset, INDEX) for offset in (places, ranges)
        )
        scores, sums, states = (
            address(context, builder, scratch, scratch_value, offset, F32) for offset in (scores, sums, states)
        )
        scales = CacheArrays(context, builder, cache, cache_value).data("value_scales") if scaled else scores
        operands = [scales, places, chunk, height, ranges, scores, sums, width, states]
        call_shared(builder, f"cactus_attention_weigh_{scaled}", operands, write)
        return context.get_dummy_value()

    def write(builder: ir.IRBuilder, *given: ir.Value) -> None:
        scales, places, chunk, height, ranges, scores, sums, width, states = given
        with counted(builder, index(0), height) as (row, _):
            low, high = (builder.sub(member_of(builder, ranges, row, member), chunk) for member in (0, 1))
            inside = builder.and_(builder.icmp_signed(">", high, index(0)), builder.icmp_signed("<", low, index(CHUNK)))
            with builder.if_then(inside):
                scores_of_row = builder.gep(scores, [builder.mul(row, index(CHUNK))])
                sums_of_row = builder.gep(sums, [builder.mul(row, width)])
                state = builder.gep(states, [builder.mul(row, index(2 * LANES))])
                _weigh_row(builder, scales, places, low, high, scores_of_row, sums_of_row, width, state)

    def _weigh_row(
        builder: ir.IRBuilder,
        scales: ir.Value,
        places: ir.Value,
        low: ir.Value,
        high: ir.Value,
        scores: ir.Value,
        sums: ir.Value,
        width: ir.Value,
        state: ir.Value,
    ) -> None:
        top_at = vector_at(builder, state, index(0))
        mass_at = vector_at(builder, state, index(LANES))
        before, mass = builder.load(top_at, align=4), builder.load(mass_at, align=4)
        targets = [vector_at(builder, scores, index(number * LANES)) for number in range(CHUNK_VECTORS)]
        masked = []
        for number, target in enumerate(targets):
            begin = index(number * LANES)
            count = member_of(builder, places, index(number), 3)
            first = builder.sub(low, begin)
            stop = smaller_index(builder, builder.sub(high, begin), count)
            lane = ir.Constant(INTEGERS, list(range(LANES)))
            first, stop = (splat(builder, builder.trunc(bound, I32), LANES) for bound in (first, stop))
            attended = builder.and_(builder.icmp_signed(">=", lane, first), builder.icmp_signed("<", lane, stop))
            masked.append(builder.select(attended, builder.load(target, align=4), constant(FLOATS, -math.inf)))
        pairs = [larger_of(builder, masked[number], masked[number + 1]) for number in (0, 2)]
        largest = larger_of(builder, *pairs)

        top = cgutils.alloca_once_value(builder, before)
        total = cgutils.alloca_once_value(builder, mass)
        with builder.if_then(any_lane_of(builder, builder.fcmp_ordered(">", largest, before))):
            largest = largest_lane_of(builder, larger_of(builder, largest, before))
            shrink = power_of_two_of(builder, builder.fsub(before, largest))
            builder.store(largest, top)
            builder.store(builder.fmul(mass, shrink), total)
            with counted(builder, index(0), width, LANES) as (column, _):
                target = vector_at(builder, sums, column)
                builder.store(builder.fmul(builder.load(target, align=4), shrink), target, align=4)
            builder.store(largest, top_at, align=4)

        largest, mass = builder.load(top), builder.load(total)
        weights = [power_of_two_of(builder, builder.fsub(score, largest)) for score in masked]
        first, second = (builder.fadd(weights[number], weights[number + 1]) for number in (0, 2))
        builder.store(builder.fadd(mass, builder.fadd(first, second)), mass_at, align=4)
        for number, (weight, target) in enumerate(zip(weights, targets, strict=True)):
            if scaled:
                scale = builder.gep(scales, [member_of(builder, places, index(number), 2)])
                weight = builder.fmul(weight, widen(builder, types.float32, scale))
            builder.store(weight, target, align=4)

    return types.void(cache, scratch, *[types.intp] * 8), generate

# ruff: noqa: ARG001 - numba matches arguments by the names of all parameters, used or not
"""Weights of a tile of attention: the softmax of scores, brought up to date chunk by chunk."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import reduce
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from cactus_actors.workers.kernels.attention_tiles import (
    CHUNK,
    CHUNK_VECTORS,
    CacheArrays,
    call_shared,
    dtype_of,
    member_of,
    smaller_index,
    vector_at,
)
from cactus_actors.workers.kernels.attention_weight_parts import store_no_parts, store_parts
from cactus_actors.workers.kernels.cache_formats import is_int8
from cactus_actors.workers.kernels.llvm_loops import counted, variables
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
    """weights = 2^(scores - largest) inside the row's range, 0 outside; sums shrink as `largest` grows.

    Those of a cache of int8 are written as `store_parts` says.
    """
    has_parts = is_int8(cache)

    def generate(context: Any, builder: ir.IRBuilder, _sig: Any, values: Any) -> ir.Value:
        cache_value, scratch_value, places, chunk, height, ranges, scores, sums, width, states = values
        places, ranges = (
            address(context, builder, scratch, scratch_value, offset, INDEX) for offset in (places, ranges)
        )
        scores, sums, states = (
            address(context, builder, scratch, scratch_value, offset, F32) for offset in (scores, sums, states)
        )
        arrays = CacheArrays(context, builder, cache, cache_value)
        operands = [
            arrays.data("keys"),
            arrays.extent("keys", 2),
            places,
            chunk,
            height,
            ranges,
            scores,
            sums,
            width,
            states,
        ]
        call_shared(builder, f"cactus_attention_weigh_{dtype_of(cache, 'keys')}", operands, write)
        return context.get_dummy_value()

    def write(builder: ir.IRBuilder, *given: ir.Value) -> None:
        keys, lanes, places, chunk, height, ranges, scores, sums, width, states = given
        counts = [member_of(builder, places, index(number), 3) for number in range(CHUNK_VECTORS)]
        is_whole = builder.icmp_signed("==", reduce(builder.add, counts), index(CHUNK))
        scales = []
        for number in range(CHUNK_VECTORS if has_parts else 0):
            start = builder.add(member_of(builder, places, index(number), 2), builder.mul(lanes, index(4)))
            scale = builder.bitcast(builder.gep(keys, [start]), FLOATS.as_pointer())
            scales.append(builder.load(scale, align=64))
        with counted(builder, index(0), height) as (row, _):
            low, high = (builder.sub(member_of(builder, ranges, row, member), chunk) for member in (0, 1))
            inside = builder.and_(builder.icmp_signed(">", high, index(0)), builder.icmp_signed("<", low, index(CHUNK)))
            starts_before = builder.icmp_signed("<=", low, index(0))
            is_full = builder.and_(starts_before, builder.icmp_signed(">=", high, index(CHUNK)))
            is_full = builder.and_(is_full, is_whole)
            scores_of_row = builder.gep(scores, [builder.mul(row, index(CHUNK))])
            with builder.if_else(inside) as (attends, otherwise):
                with attends:
                    sums_of_row = builder.gep(sums, [builder.mul(row, width)])
                    state = builder.gep(states, [builder.mul(row, index(2 * LANES))])
                    bounds = (low, high, counts)
                    _weigh_row(builder, scales, is_full, bounds, scores_of_row, sums_of_row, width, state)
                with otherwise:
                    if has_parts:
                        store_no_parts(builder, scores_of_row)

    def _weigh_row(
        builder: ir.IRBuilder,
        scales: list[ir.Value],
        is_full: ir.Value,
        bounds: tuple[ir.Value, ir.Value, list[ir.Value]],
        scores: ir.Value,
        sums: ir.Value,
        width: ir.Value,
        state: ir.Value,
    ) -> None:
        top_at = vector_at(builder, state, index(0))
        mass_at = vector_at(builder, state, index(LANES))
        before, mass = builder.load(top_at, align=4), builder.load(mass_at, align=4)
        targets = [vector_at(builder, scores, index(number * LANES)) for number in range(CHUNK_VECTORS)]
        scores_of_lanes = variables(builder, [builder.load(target, align=4) for target in targets])
        scales_of_lanes = variables(builder, scales)
        with builder.if_then(builder.not_(is_full)):
            for number, attended in enumerate(_attended_lanes(builder, *bounds)):
                _keep(builder, attended, scores_of_lanes[number], -math.inf)
                if has_parts:
                    _keep(builder, attended, scales_of_lanes[number], 0.0)
        masked = [builder.load(each) for each in scores_of_lanes]
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
        if has_parts:
            scaled = [
                builder.fmul(each, builder.load(scale)) for each, scale in zip(weights, scales_of_lanes, strict=True)
            ]
            store_parts(builder, scaled, scores)
        else:
            for weight, target in zip(weights, targets, strict=True):
                builder.store(weight, target, align=4)

    return types.void(cache, scratch, *[types.intp] * 8), generate


def _attended_lanes(builder: ir.IRBuilder, low: ir.Value, high: ir.Value, counts: list[ir.Value]) -> Iterator[ir.Value]:
    """Truth values for the lanes of each vector of a chunk: lanes low..high-1 of it are attended to."""
    lane = ir.Constant(INTEGERS, list(range(LANES)))
    for number, count in enumerate(counts):
        begin = index(number * LANES)
        first = builder.sub(low, begin)
        stop = smaller_index(builder, builder.sub(high, begin), count)
        first, stop = (splat(builder, builder.trunc(bound, I32), LANES) for bound in (first, stop))
        yield builder.and_(builder.icmp_signed(">=", lane, first), builder.icmp_signed("<", lane, stop))


def _keep(builder: ir.IRBuilder, lanes: ir.Value, variable: ir.Value, otherwise: float) -> None:
    builder.store(builder.select(lanes, builder.load(variable), constant(FLOATS, otherwise)), variable)

# ruff: noqa: ARG001 - numba matches arguments by the names of all parameters, used or not
"""Sums of a tile of attention: weights times values."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types

from cactus_actors.workers.kernels.attention_tiles import (
    CHUNK,
    CacheArrays,
    call_shared,
    dtype_of,
    each_height,
    larger_index,
    member_of,
    smaller_index,
    vector_at,
    wide_vectors,
)
from cactus_actors.workers.kernels.cache_formats import stored_bytes, widen
from cactus_actors.workers.kernels.llvm_loops import counted, variables
from cactus_actors.workers.kernels.simd import (
    F32,
    INDEX,
    LANES,
    address,
    index,
    multiply_add,
    prefetch,
    primitive,
    splat,
)


def _mix_of(is_widened: bool) -> Any:
    @primitive
    def mix(
        typing: Any,
        cache: Any,
        scratch: Any,
        places: Any,  # offset of the chunk's places
        next_places: Any,
        widened: Any,  # offset of its widened values
        first: Any,  # lanes first..last-1 of the chunk
        last: Any,
        height: Any,
        width: Any,  # of a position's values
        weights: Any,  # offset; (height, CHUNK)
        sums: Any,  # offset; (height, width)
    ) -> Any:
        return _mix(cache, scratch, is_widened)

    return mix


mix, mix_widened = _mix_of(False), _mix_of(True)
"""sums[row] += weights[row, position] * values[position], over positions in order.

Values are those of the cache or widened ones. While it reads the cache, the keys of the next chunk are fetched.
"""


def _mix(cache: Any, scratch: Any, is_widened: bool) -> Any:
    dtype = types.float32 if is_widened else dtype_of(cache, "values")

    def generate(context: Any, builder: ir.IRBuilder, _sig: Any, values: Any) -> ir.Value:
        cache_value, scratch_value, places, next_places, widened, first, last, height, width, weights, sums = values
        arrays = CacheArrays(context, builder, cache, cache_value)
        stored = arrays.data("values")
        if is_widened:
            stored = address(context, builder, scratch, scratch_value, widened, F32)
        operands = [
            arrays.data("keys"),
            address(context, builder, scratch, scratch_value, next_places, INDEX),
            stored,
            width,
            address(context, builder, scratch, scratch_value, places, INDEX),
            first,
            last,
            height,
            address(context, builder, scratch, scratch_value, weights, F32),
            address(context, builder, scratch, scratch_value, sums, F32),
        ]
        call_shared(builder, f"cactus_attention_mix_{dtype}{'_widened' * is_widened}", operands, write)
        return context.get_dummy_value()

    def write(builder: ir.IRBuilder, *given: ir.Value) -> None:
        keys, next_places, stored, width, places, first, last, height, weights, sums = given
        first_vector = builder.ashr(first, index(4))
        stop_vector = builder.ashr(builder.add(last, index(LANES - 1)), index(4))

        def emit(rows: int, columns: ir.Value, count: int) -> None:
            targets = [
                vector_at(
                    builder,
                    sums,
                    builder.add(builder.add(columns, builder.mul(width, index(row))), index(column * LANES)),
                )
                for row in range(rows)
                for column in range(count)
            ]
            totals = variables(builder, [builder.load(target, align=4) for target in targets])
            with counted(builder, first_vector, stop_vector) as (number, _):
                begin = builder.mul(number, index(LANES))
                low = larger_index(builder, builder.sub(first, begin), index(0))
                high = smaller_index(builder, builder.sub(last, begin), member_of(builder, places, number, 3))
                start = builder.mul(begin, width) if is_widened else member_of(builder, places, number, 1)
                block = builder.gep(stored, [builder.add(start, columns)])
                factors = builder.gep(weights, [begin])
                # Keys of a block of sixteen positions are one run of memory, as long as its values.
                following = builder.gep(keys, [builder.add(member_of(builder, next_places, number, 0), columns)])
                with counted(builder, low, high) as (position, _):
                    offset = builder.mul(position, width)
                    line = builder.gep(block, [offset])
                    ahead = builder.gep(following, [offset])
                    for column in () if is_widened else range(0, count, 4 // stored_bytes(dtype)):
                        prefetch(builder, builder.gep(ahead, [index(column * LANES)]))
                    lanes = [
                        widen(builder, dtype, builder.gep(line, [index(column * LANES)])) for column in range(count)
                    ]
                    at = builder.gep(factors, [position])
                    for row in range(rows):
                        weight = builder.load(builder.gep(at, [index(row * CHUNK)]))
                        weight = splat(builder, weight, LANES)
                        for column, lane in enumerate(lanes):
                            total = totals[row * count + column]
                            builder.store(multiply_add(builder, weight, lane, builder.load(total)), total)
            for total, target in zip(totals, targets, strict=True):
                builder.store(builder.load(total), target, align=4)

        def whole(rows: int) -> None:
            side = wide_vectors() * LANES
            wide_stop = builder.and_(width, index(-side))
            with counted(builder, index(0), wide_stop, side) as (columns, _):
                emit(rows, columns, wide_vectors())
            if side > LANES:
                with counted(builder, wide_stop, width, LANES) as (columns, _):
                    emit(rows, columns, 1)

        each_height(builder, height, whole)

    return types.void(cache, scratch, *[types.intp] * 9), generate

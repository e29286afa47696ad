# ruff: noqa: ARG001 - numba matches arguments by the names of all parameters, used or not
"""Scores of a tile of attention: queries times keys."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types

from cactus_actors.workers.kernels.attention_tiles import (
    CHUNK,
    CHUNK_VECTORS,
    SCALES,
    CacheArrays,
    call_shared,
    dtype_of,
    each_height,
    member_of,
    vector_at,
    wide_vectors,
)
from cactus_actors.workers.kernels.cache_formats import widen
from cactus_actors.workers.kernels.llvm_loops import counted, variables
from cactus_actors.workers.kernels.simd import (
    F32,
    FLOATS,
    INDEX,
    LANES,
    address,
    constant,
    index,
    multiply_add,
    prefetch,
    primitive,
    splat,
)


@primitive
def score(
    typing: Any,
    cache: Any,
    scratch: Any,
    places: Any,  # offset of the chunk's places
    first: Any,  # vectors first..last-1 of the chunk
    last: Any,
    height: Any,
    head_dim: Any,
    queries: Any,  # offset of the tile's first query; (height, query_width)
    query_width: Any,
    scores: Any,  # offset; (height, CHUNK)
) -> Any:
    """scores[row, position] = queries[row] . keys[position].

    Meanwhile the values of the chunk are fetched.
    """
    dtype = dtype_of(cache, "keys")
    scaled = "key_scales" in cache.fields

    def generate(context: Any, builder: ir.IRBuilder, _sig: Any, values: Any) -> ir.Value:
        cache_value, scratch_value, places, first, last, height, head_dim, queries, query_width, scores = values
        arrays = CacheArrays(context, builder, cache, cache_value)
        keys = arrays.data("keys")
        operands = [
            arrays.data("values"),
            keys,
            *(arrays.data(name) if scaled else builder.bitcast(keys, F32.as_pointer()) for name in SCALES),
            head_dim,
            arrays.extent("keys", 2),
            address(context, builder, scratch, scratch_value, places, INDEX),
            first,
            last,
            height,
            address(context, builder, scratch, scratch_value, queries, F32),
            query_width,
            address(context, builder, scratch, scratch_value, scores, F32),
        ]
        call_shared(builder, f"cactus_attention_score_{dtype}", operands, write)
        return context.get_dummy_value()

    def write(builder: ir.IRBuilder, *given: ir.Value) -> None:
        (
            values,
            keys,
            scales,
            value_scales,
            head_dim,
            stride,
            places,
            first,
            last,
            height,
            queries,
            query_width,
            scores,
        ) = given

        def emit(rows: int, start: ir.Value, width: int) -> None:
            numbers = [builder.add(start, index(column)) for column in range(width)]
            blocks = [builder.gep(keys, [member_of(builder, places, number, 0)]) for number in numbers]
            next_values = [builder.gep(values, [member_of(builder, places, number, 1)]) for number in numbers]
            lines = [builder.gep(queries, [builder.mul(query_width, index(row))]) for row in range(rows)]
            sums = variables(builder, [constant(FLOATS, 0.0)] * (rows * width))
            for number in numbers if scaled else ():
                for array in (scales, value_scales):
                    prefetch(builder, builder.gep(array, [member_of(builder, places, number, 2)]))
            with counted(builder, index(0), head_dim, 2) as (even, _):
                for dim in (even, builder.add(even, index(1))):
                    offset = builder.mul(dim, stride)
                    if dim is even or dtype == types.float32:
                        line = builder.mul(dim, index(LANES))
                        for block in next_values:
                            prefetch(builder, builder.gep(block, [line]))
                    lanes = [widen(builder, dtype, builder.gep(block, [offset])) for block in blocks]
                    for row, own in enumerate(lines):
                        query = splat(builder, builder.load(builder.gep(own, [dim])), LANES)
                        for column, lane in enumerate(lanes):
                            total = sums[row * width + column]
                            builder.store(multiply_add(builder, query, lane, builder.load(total)), total)
            for column, number in enumerate(numbers):
                scale = builder.gep(scales, [member_of(builder, places, number, 2)])
                scale = widen(builder, types.float32, scale) if scaled else None
                for row in range(rows):
                    result = builder.load(sums[row * width + column])
                    if scale is not None:
                        result = builder.fmul(result, scale)
                    at = builder.add(builder.mul(number, index(LANES)), index(row * CHUNK))
                    builder.store(result, vector_at(builder, scores, at), align=4)

        def narrow(rows: int) -> None:
            with counted(builder, first, last) as (number, _):
                emit(rows, number, 1)

        def whole(rows: int) -> None:
            full = builder.icmp_signed("==", builder.sub(last, first), index(CHUNK_VECTORS))
            with builder.if_else(full) as (then, otherwise):
                with then:
                    emit(rows, first, CHUNK_VECTORS)
                with otherwise:
                    narrow(rows)

        each_height(builder, height, whole if wide_vectors() > 1 else narrow)

    return types.void(cache, scratch, *[types.intp] * 8), generate

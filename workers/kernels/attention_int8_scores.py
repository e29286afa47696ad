# ruff: noqa: ARG001 - numba matches arguments by the names of all parameters, used or not
"""Scores of a tile of attention with keys in int8: sums of products of integers, which are exact, and scales."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types

from cactus_actors.workers.kernels.attention_queries import scale_and_correction
from cactus_actors.workers.kernels.attention_tiles import (
    CHUNK,
    CacheArrays,
    call_shared,
    each_vector,
    member_of,
    vector_at,
)
from cactus_actors.workers.kernels.cache_formats import TOGETHER, instructions_of
from cactus_actors.workers.kernels.cache_stores import ZERO_POINT
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
    prefetch,
    primitive,
    splat,
)

LINE = ir.VectorType(I8, LANES * TOGETHER)


@primitive
def score_int8(
    typing: Any,
    cache: Any,
    scratch: Any,
    places: Any,  # offset of the chunk's places
    next_places: Any,
    first: Any,  # vectors first..last-1 of the chunk
    last: Any,
    height: Any,
    head_dim: Any,
    queries: Any,  # offset of the tile's first query; (height, query_width)
    query_width: Any,
    scores: Any,  # offset; (height, CHUNK)
) -> Any:
    """scores[row, position] = queries[row] . keys[position], while the keys of the next chunk are fetched."""
    instructions = instructions_of(cache)

    def generate(context: Any, builder: ir.IRBuilder, _sig: Any, given: Any) -> ir.Value:
        cache_value, scratch_value, places, next_places, first, last, *rest = given
        height, head_dim, queries, query_width, scores = rest
        arrays = CacheArrays(context, builder, cache, cache_value)
        operands = [
            arrays.data("keys"),
            builder.lshr(builder.add(head_dim, index(TOGETHER - 1)), index(2)),
            arrays.extent("keys", 2),
            *(address(context, builder, scratch, scratch_value, each, INDEX) for each in (places, next_places)),
            first,
            last,
            height,
            address(context, builder, scratch, scratch_value, queries, F32),
            query_width,
            address(context, builder, scratch, scratch_value, scores, F32),
        ]
        call_shared(builder, f"cactus_attention_score_int8_{instructions.name}", operands, write)
        return context.get_dummy_value()

    def write(builder: ir.IRBuilder, *given: ir.Value) -> None:
        keys, num_quads, lanes, places, next_places, first, last, height, queries, query_width, scores = given
        stride = builder.mul(lanes, index(TOGETHER))

        def emit(rows: int, start: ir.Value, width: int) -> None:
            numbers = [builder.add(start, index(column)) for column in range(width)]
            blocks, ahead = (
                [builder.gep(keys, [member_of(builder, each, number, 0)]) for number in numbers]
                for each in (places, next_places)
            )
            lines = [builder.gep(queries, [builder.mul(query_width, index(row))]) for row in range(rows)]
            records = [scale_and_correction(builder, line, query_width) for line in lines]
            begin = [
                splat(builder, correction, LANES) if instructions.zero_point else constant(INTEGERS, 0)
                for _, correction in records
                for _ in range(width)
            ]
            sums = variables(builder, begin)
            for number in numbers:
                scales = builder.gep(keys, [member_of(builder, next_places, number, 2)])
                prefetch(builder, scales)
                prefetch(builder, builder.gep(scales, [stride]))
            with counted(builder, index(0), num_quads) as (quad, _):
                offset = builder.mul(quad, stride)
                for block in ahead:
                    prefetch(builder, builder.gep(block, [offset]), level=1)
                loaded = [_load(builder, builder.gep(block, [offset])) for block in blocks]
                for row, line in enumerate(lines):
                    four = builder.load(builder.bitcast(builder.gep(line, [quad]), I32.as_pointer()), align=4)
                    for column, each in enumerate(loaded):
                        total = sums[row * width + column]
                        builder.store(instructions.dot(builder, builder.load(total), four, each), total)
            for column, number in enumerate(numbers):
                scales = builder.gep(keys, [member_of(builder, places, number, 2)])
                of_keys = builder.load(builder.bitcast(scales, FLOATS.as_pointer()), align=64)
                for row, (scale, _) in enumerate(records):
                    result = builder.sitofp(builder.load(sums[row * width + column]), FLOATS)
                    result = builder.fmul(builder.fmul(result, of_keys), splat(builder, scale, LANES))
                    at = builder.add(builder.mul(number, index(LANES)), index(row * CHUNK))
                    builder.store(result, vector_at(builder, scores, at), align=4)

        each_vector(builder, height, first, last, emit)

    def _load(builder: ir.IRBuilder, at: ir.Value) -> ir.Value:
        line = builder.load(builder.bitcast(at, LINE.as_pointer()), align=64)
        # To subtract 128 from a byte is to change its sign bit.
        return line if instructions.zero_point else builder.xor(line, constant(LINE, ZERO_POINT))

    return types.void(cache, scratch, *[types.intp] * 9), generate

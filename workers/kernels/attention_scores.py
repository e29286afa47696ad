# ruff: noqa: ARG001 - numba matches arguments by the names of all parameters, used or not
"""Scores of a tile of attention: queries times keys."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types

from cactus_actors.workers.kernels.attention_tiles import (
    CHUNK,
    CacheArrays,
    call_shared,
    dtype_of,
    each_vector,
    member_of,
    vector_at,
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


def _score_of(is_widened: bool) -> Any:
    @primitive
    def score(
        typing: Any,
        cache: Any,
        scratch: Any,
        places: Any,  # offset of the chunk's places
        widened: Any,  # offset of its widened keys
        first: Any,  # vectors first..last-1 of the chunk
        last: Any,
        height: Any,
        head_dim: Any,
        queries: Any,  # offset of the tile's first query; (height, query_width)
        query_width: Any,
        scores: Any,  # offset; (height, CHUNK)
    ) -> Any:
        return _score(cache, scratch, is_widened)

    return score


score, score_widened = _score_of(False), _score_of(True)
"""scores[row, position] = queries[row] . keys[position], of keys in the cache or of widened ones.

While it reads the keys of the cache, the values of the chunk are fetched.
"""


def _score(cache: Any, scratch: Any, is_widened: bool) -> Any:
    dtype = types.float32 if is_widened else dtype_of(cache, "keys")

    def generate(context: Any, builder: ir.IRBuilder, _sig: Any, values: Any) -> ir.Value:
        cache_value, scratch_value, places, widened, first, last, height, head_dim, *rest = values
        queries, query_width, scores = rest
        arrays = CacheArrays(context, builder, cache, cache_value)
        keys = address(context, builder, scratch, scratch_value, widened, F32) if is_widened else arrays.data("keys")
        operands = [
            arrays.data("values"),
            keys,
            head_dim,
            index(CHUNK) if is_widened else arrays.extent("keys", 2),
            address(context, builder, scratch, scratch_value, places, INDEX),
            first,
            last,
            height,
            address(context, builder, scratch, scratch_value, queries, F32),
            query_width,
            address(context, builder, scratch, scratch_value, scores, F32),
        ]
        call_shared(builder, f"cactus_attention_score_{dtype}{'_widened' * is_widened}", operands, write)
        return context.get_dummy_value()

    def write(builder: ir.IRBuilder, *given: ir.Value) -> None:
        values, keys, head_dim, stride, places, first, last, height, queries, query_width, scores = given

        def emit(rows: int, start: ir.Value, width: int) -> None:
            numbers = [builder.add(start, index(column)) for column in range(width)]
            if is_widened:
                starts = [builder.mul(number, index(LANES)) for number in numbers]
            else:
                starts = [member_of(builder, places, number, 0) for number in numbers]
            blocks = [builder.gep(keys, [start]) for start in starts]
            next_values = [builder.gep(values, [member_of(builder, places, number, 1)]) for number in numbers]
            lines = [builder.gep(queries, [builder.mul(query_width, index(row))]) for row in range(rows)]
            sums = variables(builder, [constant(FLOATS, 0.0)] * (rows * width))
            with counted(builder, index(0), head_dim, 2) as (even, _):
                for dim in (even, builder.add(even, index(1))):
                    offset = builder.mul(dim, stride)
                    if not is_widened and (dim is even or dtype == types.float32):
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
                for row in range(rows):
                    at = builder.add(builder.mul(number, index(LANES)), index(row * CHUNK))
                    builder.store(builder.load(sums[row * width + column]), vector_at(builder, scores, at), align=4)

        each_vector(builder, height, first, last, emit)

    return types.void(cache, scratch, *[types.intp] * 9), generate

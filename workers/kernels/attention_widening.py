# ruff: noqa: ARG001 - numba matches arguments by the names of all parameters, used or not
"""A chunk's keys or values as float32 in scratch memory, for tiles of many rows: they are widened once for all.

Widening is exact, so that no result depends on it.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types

from cactus_actors.workers.kernels.attention_tiles import (
    CHUNK,
    CacheArrays,
    call_shared,
    dtype_of,
    member_of,
    vector_at,
)
from cactus_actors.workers.kernels.cache_formats import widen
from cactus_actors.workers.kernels.llvm_loops import counted
from cactus_actors.workers.kernels.simd import F32, INDEX, LANES, address, index, prefetch, primitive


@primitive
def widen_keys(
    typing: Any,
    cache: Any,
    scratch: Any,
    places: Any,  # offset of the chunk's places
    first: Any,  # vectors first..last-1 of the chunk
    last: Any,
    head_dim: Any,
    widened: Any,  # offset; (head_dim, CHUNK)
) -> Any:
    """Write the keys of a chunk as float32, while its values are fetched."""
    dtype = dtype_of(cache, "keys")

    def generate(context: Any, builder: ir.IRBuilder, _sig: Any, given: Any) -> ir.Value:
        cache_value, scratch_value, places, first, last, head_dim, widened = given
        arrays = CacheArrays(context, builder, cache, cache_value)
        operands = [
            arrays.data("keys"),
            arrays.data("values"),
            arrays.extent("keys", 2),
            address(context, builder, scratch, scratch_value, places, INDEX),
            first,
            last,
            head_dim,
            address(context, builder, scratch, scratch_value, widened, F32),
        ]
        call_shared(builder, f"cactus_attention_widen_keys_{dtype}", operands, write)
        return context.get_dummy_value()

    def write(builder: ir.IRBuilder, *given: ir.Value) -> None:
        keys, values, stride, places, first, last, head_dim, widened = given
        with counted(builder, first, last) as (number, _):
            block = builder.gep(keys, [member_of(builder, places, number, 0)])
            ahead = builder.gep(values, [member_of(builder, places, number, 1)])
            target = builder.gep(widened, [builder.mul(number, index(LANES))])
            with counted(builder, index(0), head_dim) as (dim, _):
                # Values of a block of sixteen positions are one run of memory, as long as its keys.
                prefetch(builder, builder.gep(ahead, [builder.mul(dim, index(LANES))]))
                lanes = widen(builder, dtype, builder.gep(block, [builder.mul(dim, stride)]))
                builder.store(lanes, vector_at(builder, target, builder.mul(dim, index(CHUNK))), align=4)

    return types.void(cache, scratch, *[types.intp] * 5), generate


@primitive
def widen_values(
    typing: Any,
    cache: Any,
    scratch: Any,
    places: Any,  # offset of the chunk's places
    next_places: Any,
    first: Any,  # vectors first..last-1 of the chunk
    last: Any,
    width: Any,  # of a position's values
    widened: Any,  # offset; (CHUNK, width)
) -> Any:
    """Write the values of a chunk as float32, while the keys of the next chunk are fetched."""
    dtype = dtype_of(cache, "values")

    def generate(context: Any, builder: ir.IRBuilder, _sig: Any, given: Any) -> ir.Value:
        cache_value, scratch_value, places, next_places, first, last, width, widened = given
        arrays = CacheArrays(context, builder, cache, cache_value)
        operands = [
            arrays.data("keys"),
            arrays.data("values"),
            *(address(context, builder, scratch, scratch_value, each, INDEX) for each in (places, next_places)),
            first,
            last,
            width,
            address(context, builder, scratch, scratch_value, widened, F32),
        ]
        call_shared(builder, f"cactus_attention_widen_values_{dtype}", operands, write)
        return context.get_dummy_value()

    def write(builder: ir.IRBuilder, *given: ir.Value) -> None:
        keys, values, places, next_places, first, last, width, widened = given
        with counted(builder, first, last) as (number, _):
            block = builder.gep(values, [member_of(builder, places, number, 1)])
            ahead = builder.gep(keys, [member_of(builder, next_places, number, 0)])
            target = builder.gep(widened, [builder.mul(builder.mul(number, index(LANES)), width)])
            size = builder.mul(member_of(builder, places, number, 3), width)
            with counted(builder, index(0), size, LANES) as (offset, _):
                prefetch(builder, builder.gep(ahead, [offset]))
                lanes = widen(builder, dtype, builder.gep(block, [offset]))
                builder.store(lanes, vector_at(builder, target, offset), align=4)

    return types.void(cache, scratch, *[types.intp] * 7), generate

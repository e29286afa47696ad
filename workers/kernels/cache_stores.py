# ruff: noqa: ARG001 - numba matches arguments by the names of all parameters, used or not
"""Storing the keys and values of a token in the paged cache."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from cactus_actors.workers.kernels.byte_access import store_float
from cactus_actors.workers.kernels.cache_formats import (
    HALF,
    LARGEST_INT8,
    TOGETHER,
    CachedLayer,
    by_format,
    stored_bytes,
)
from cactus_actors.workers.kernels.cache_places import place_of
from cactus_actors.workers.kernels.internal import internal
from cactus_actors.workers.kernels.llvm_loops import counted, variables
from cactus_actors.workers.kernels.simd import (
    F32,
    FLOATS,
    I8,
    I32,
    INTEGERS,
    LANES,
    address,
    broadcast,
    call,
    constant,
    index,
    load_first,
    load_lanes,
    nearest_integers,
    primitive,
    vector,
)

I16 = ir.IntType(16)
ZERO_POINT = 128
"""Added to the integers of keys: most instructions multiply unsigned ones by signed ones."""

SMALLEST = np.float32(2.0**-100)
"""Keys or values with no larger one become zero: 127 / x is infinite for the smallest of floats."""


def store_keys_values(
    cache: Any,
    layer: CachedLayer,
    block: int,
    slot: int,
    source: Any,
    key_start: int,
    value_start: int,
    first_head: int,
    last_head: int,
) -> None:
    """Store one token's keys and values, (kv_heads, head_dim) each, in one slot of a block.

    Only those of key-value heads first_head..last_head-1.
    """
    raise NotImplementedError


def _store_floats(
    cache: Any,
    layer: CachedLayer,
    block: int,
    slot: int,
    source: Any,
    key_start: int,
    value_start: int,
    first_head: int,
    last_head: int,
) -> None:
    lanes, head_dim = cache.keys.shape[2], layer.head_dim
    for kv_head in range(first_head, last_head):
        read_key, read_value = key_start + kv_head * head_dim, value_start + kv_head * head_dim
        key, value, _ = place_of(cache, layer, block * layer.num_heads + kv_head, slot)
        for dim in range(0, head_dim, LANES):
            count = head_dim - dim
            _scatter(cache.keys, key + dim * lanes, lanes, load_first(source, read_key + dim, count), count)
            _store_narrow(cache.values, value + dim, load_first(source, read_value + dim, count))


def _store_int8(
    cache: Any,
    layer: CachedLayer,
    block: int,
    slot: int,
    source: Any,
    key_start: int,
    value_start: int,
    first_head: int,
    last_head: int,
) -> None:
    lanes, head_dim = cache.keys.shape[2], layer.head_dim
    member = slot % TOGETHER
    for kv_head in range(first_head, last_head):
        read_key, read_value = key_start + kv_head * head_dim, value_start + kv_head * head_dim
        key, value, scale = place_of(cache, layer, block * layer.num_heads + kv_head, slot - member)
        largest_key, largest_value = largest_of(source, read_key, head_dim), largest_of(source, read_value, head_dim)
        store_float(cache.keys, scale + 4 * member, largest_key / np.float32(LARGEST_INT8))
        store_float(cache.keys, scale + 4 * (lanes + member), largest_value / np.float32(LARGEST_INT8))
        by_key, by_value = broadcast(steps_of(largest_key)), broadcast(steps_of(largest_value))
        for dim in range(0, head_dim, LANES):
            count = head_dim - dim
            keys = load_first(source, read_key + dim, count) * by_key
            _store_quads(cache.keys, key + member * TOGETHER + dim * lanes, lanes * TOGETHER, keys, count)
            values = load_first(source, read_value + dim, count) * by_value
            _scatter(cache.keys, value + member + dim * TOGETHER, TOGETHER, values, LANES)


by_format(store_keys_values, _store_floats, _store_int8)


@internal(error_model="numpy")
def steps_of(largest: Any) -> Any:
    """Steps of 1 in values up to `largest`."""
    return np.float32(0) if largest < SMALLEST else np.float32(LARGEST_INT8) / largest


@primitive
def largest_of(typing: Any, source: Any, start: Any, count: Any) -> Any:
    """The largest magnitude of `count` floats; NaN if one of them is."""

    def generate(context: Any, builder: ir.IRBuilder, _sig: Any, values: Any) -> ir.Value:
        source_value, start, count = values
        (largest,) = variables(builder, [constant(INTEGERS, 0)])
        with counted(builder, index(0), count, LANES) as (dim, _):
            here = address(context, builder, source, source_value, builder.add(start, dim), FLOATS)
            lanes = builder.bitcast(load_lanes(builder, here, builder.sub(count, dim)), INTEGERS)
            # Without their signs, floats are ordered as their bits are, and NaN is the largest.
            lanes = builder.and_(lanes, constant(INTEGERS, 2**31 - 1))
            before = builder.load(largest)
            builder.store(builder.select(builder.icmp_signed(">", lanes, before), lanes, before), largest)
        return builder.bitcast(call(builder, "llvm.vector.reduce.smax.v16i32", I32, builder.load(largest)), F32)

    return types.float32(source, types.intp, types.intp), generate


def _narrow(builder: ir.IRBuilder, dtype: Any, value: ir.Value) -> ir.Value:
    if dtype == types.float32:
        return value
    if dtype == types.uint16:
        halves = builder.fptrunc(value, ir.VectorType(HALF, LANES))
        return builder.bitcast(halves, ir.VectorType(I16, LANES))
    return builder.trunc(nearest_integers(builder, value), ir.VectorType(I8, LANES))


@primitive
def _scatter(typing: Any, array: Any, offset: Any, stride: Any, value: Any, count: Any) -> Any:
    """The first `count` lanes in the array's format, `stride` elements apart."""

    def generate(context: Any, builder: ir.IRBuilder, _sig: Any, values: Any) -> ir.Value:
        array_value, offset, stride, value, count = values
        lanes = _narrow(builder, array.dtype, value)
        start = address(context, builder, array, array_value, offset, lanes.type.element)

        def write(lane: int) -> None:
            target = builder.gep(start, [builder.mul(stride, index(lane))])
            builder.store(builder.extract_element(lanes, I32(lane)), target)

        with builder.if_else(builder.icmp_signed(">=", count, index(LANES))) as (whole, partial):
            with whole:
                for lane in range(LANES):
                    write(lane)
            with partial:
                for lane in range(LANES - 1):
                    with builder.if_then(builder.icmp_signed(">", count, index(lane))):
                        write(lane)
        return context.get_dummy_value()

    return types.void(array, types.intp, types.intp, vector, types.intp), generate


@primitive
def _store_narrow(typing: Any, array: Any, offset: Any, value: Any) -> Any:
    """All lanes in the array's format, side by side."""

    def generate(context: Any, builder: ir.IRBuilder, _sig: Any, values: Any) -> ir.Value:
        array_value, offset, value = values
        lanes = _narrow(builder, array.dtype, value)
        target = address(context, builder, array, array_value, offset, lanes.type)
        builder.store(lanes, target, align=stored_bytes(array.dtype))
        return context.get_dummy_value()

    return types.void(array, types.intp, vector), generate


@primitive
def _store_quads(typing: Any, keys: Any, offset: Any, stride: Any, value: Any, count: Any) -> Any:
    """Quads of the first `count` lanes as integers with ZERO_POINT added, `stride` bytes apart."""

    def generate(context: Any, builder: ir.IRBuilder, _sig: Any, values: Any) -> ir.Value:
        keys_value, offset, stride, value, count = values
        integers = builder.add(nearest_integers(builder, value), constant(INTEGERS, ZERO_POINT))
        quads = builder.trunc(integers, ir.VectorType(I8, LANES))
        quads = builder.bitcast(quads, ir.VectorType(I32, LANES // TOGETHER))
        start = address(context, builder, keys, keys_value, offset, I8)
        for quad in range(LANES // TOGETHER):
            with builder.if_then(builder.icmp_signed(">", count, index(quad * TOGETHER))):
                target = builder.gep(start, [builder.mul(stride, index(quad))])
                target = builder.bitcast(target, I32.as_pointer())
                builder.store(builder.extract_element(quads, I32(quad)), target, align=TOGETHER)
        return context.get_dummy_value()

    return types.void(keys, types.intp, types.intp, vector, types.intp), generate

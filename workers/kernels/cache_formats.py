# ruff: noqa: ARG001 - numba matches arguments by the names of all parameters, used or not
"""The paged KV cache in compiled code: one named tuple of arrays per number format.

Kernels read and write sixteen elements as float32 in every format, which follows from the dtype of the array.
float16 is stored as uint16, because numba has no float16.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numpy.typing import NDArray

from cactus_actors.workers.kernels.aligned_memory import round_up
from cactus_actors.workers.kernels.instruction_sets import cpu_features
from cactus_actors.workers.kernels.internal import internal
from cactus_actors.workers.kernels.simd import (
    F32,
    FLOATS,
    I8,
    I32,
    INTEGERS,
    LANES,
    absolute,
    address,
    broadcast,
    index,
    load_first,
    max_of_lanes,
    maximum,
    nearest_integers,
    primitive,
    vector,
)

I16, HALF = ir.IntType(16), ir.HalfType()
LARGEST_INT8 = 127


class CachedLayer(NamedTuple):
    """A layer of attention in the cache: its heads, and the sizes of all layers before it.

    Layers follow one another, each with its own sizes. A layer has its blocks one after the other, keys as
    (blocks, heads, head_dim, padded block_size), values as (blocks, heads, block_size, padded head_dim).
    """

    num_heads: int
    head_dim: int
    heads_before: int
    dims_before: int  # heads * head_dim
    columns_before: int  # heads * padded head_dim


def cached_layers(heads: Iterable[tuple[int, int]]) -> tuple[CachedLayer, ...]:
    """The layers of a cache, from the number and size of the key-value heads of each."""
    layers: list[CachedLayer] = []
    num_heads = num_dims = num_columns = 0
    for count, head_dim in heads:
        layers.append(CachedLayer(count, head_dim, num_heads, num_dims, num_columns))
        num_heads += count
        num_dims += count * head_dim
        num_columns += count * round_up(head_dim, LANES)
    return tuple(layers)


class Float32Cache(NamedTuple):
    """Keys, values and states as computed; see `CachedLayer` for the order within keys, values and scales."""

    keys: NDArray[np.float32]  # (sum of head_dim over all heads and layers, blocks, padded block_size)
    values: NDArray[np.float32]  # (sum of padded head_dim over all heads and layers, blocks, block_size)
    states: NDArray[np.float32]  # (state layers, blocks, block_size, padded state_size)
    slots: NDArray[np.float32]  # (slots, slot_size) recurrent states of sequences


class Float16Cache(NamedTuple):
    """Keys and values as IEEE half floats; beyond 65504 they become infinite."""

    keys: NDArray[np.uint16]
    values: NDArray[np.uint16]
    states: NDArray[np.float32]
    slots: NDArray[np.float32]


class Int8Cache(NamedTuple):
    """Keys and values in steps of 1/127 of the largest of their position and head."""

    keys: NDArray[np.int8]
    values: NDArray[np.int8]
    key_scales: NDArray[np.float32]  # (heads of all layers, blocks, padded block_size)
    value_scales: NDArray[np.float32]
    states: NDArray[np.float32]
    slots: NDArray[np.float32]


def field(context: Any, builder: ir.IRBuilder, cache_type: Any, cache: ir.Value, name: str) -> Any:
    """(numba type, LLVM value) of one array of a cache."""
    position = cache_type.fields.index(name)
    return cache_type.types[position], builder.extract_value(cache, position)


def widen(builder: ir.IRBuilder, dtype: Any, pointer: ir.Value) -> ir.Value:
    """Sixteen elements of an array of that dtype as float32; int8 without its scale."""
    stored = {types.float32: F32, types.uint16: HALF, types.int8: I8}[dtype]
    pointer = builder.bitcast(pointer, ir.VectorType(stored, LANES).as_pointer())
    elements = builder.load(pointer, align=stored_bytes(dtype))
    if stored is F32:
        return elements
    if stored is HALF:
        return builder.fpext(elements, FLOATS)
    return builder.sitofp(builder.sext(elements, INTEGERS), FLOATS)


def converts_half_floats() -> bool:
    """True if this CPU has instructions for half floats, which compiled code needs."""
    return "f16c" in cpu_features() or platform.machine() not in ("x86_64", "AMD64")


def stored_bytes(dtype: Any) -> int:
    """Bytes of one element."""
    return int(dtype.bitwidth) // 8


def _narrow(builder: ir.IRBuilder, dtype: Any, value: ir.Value) -> ir.Value:
    if dtype == types.float32:
        return value
    if dtype == types.uint16:
        halves = builder.fptrunc(value, ir.VectorType(HALF, LANES))
        return builder.bitcast(halves, ir.VectorType(I16, LANES))
    return builder.trunc(nearest_integers(builder, value), ir.VectorType(I8, LANES))


@primitive
def scatter(typing: Any, array: Any, offset: Any, stride: Any, value: Any, count: Any) -> Any:
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
def store_narrow(typing: Any, array: Any, offset: Any, value: Any) -> Any:
    """All lanes in the array's format, side by side."""

    def generate(context: Any, builder: ir.IRBuilder, _sig: Any, values: Any) -> ir.Value:
        array_value, offset, value = values
        lanes = _narrow(builder, array.dtype, value)
        target = address(context, builder, array, array_value, offset, lanes.type)
        builder.store(lanes, target, align=stored_bytes(array.dtype))
        return context.get_dummy_value()

    return types.void(array, types.intp, vector), generate


def _scale_writer(name: str) -> Any:
    @primitive
    def write_scale(typing: Any, cache: Any, offset: Any, largest: Any) -> Any:
        """Write the scale of values up to `largest`; returns their factor, 1 where there are no scales."""

        def generate(context: Any, builder: ir.IRBuilder, _sig: Any, values: Any) -> ir.Value:
            cache_value, offset, largest = values
            if name not in cache.fields:
                return ir.Constant(F32, 1.0)
            limit = ir.Constant(F32, LARGEST_INT8)
            scales, scales_value = field(context, builder, cache, cache_value, name)
            scale = builder.fdiv(largest, limit)
            builder.store(scale, address(context, builder, scales, scales_value, offset, F32))
            # 127 / x is infinite for the smallest of floats: they become zero.
            vanishing = builder.fcmp_ordered("<", largest, ir.Constant(F32, 2.0**-100))
            return builder.select(vanishing, ir.Constant(F32, 0.0), builder.fdiv(limit, largest))

        return types.float32(cache, types.intp, types.float32), generate

    return write_scale


_write_key_scale, _write_value_scale = _scale_writer("key_scales"), _scale_writer("value_scales")


@internal(error_model="numpy")
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
    num_blocks, lanes = cache.keys.shape[1:]
    block_size, head_dim, width = cache.values.shape[2], layer.head_dim, padded(layer.head_dim)
    for kv_head in range(first_head, last_head):
        head = block * layer.num_heads + kv_head
        read_key, read_value = key_start + kv_head * head_dim, value_start + kv_head * head_dim
        scale = (layer.heads_before * num_blocks + head) * lanes + slot
        by_key = broadcast(_write_key_scale(cache, scale, _largest(source, read_key, head_dim)))
        by_value = broadcast(_write_value_scale(cache, scale, _largest(source, read_value, head_dim)))
        key = (layer.dims_before * num_blocks + head * head_dim) * lanes + slot
        value = (layer.columns_before * num_blocks + head * width) * block_size + slot * width
        for dim in range(0, head_dim, LANES):
            count = head_dim - dim
            keys = load_first(source, read_key + dim, count) * by_key
            values = load_first(source, read_value + dim, count) * by_value
            scatter(cache.keys, key + dim * lanes, lanes, keys, count)
            store_narrow(cache.values, value + dim, values)


@internal(error_model="numpy")
def padded(head_dim: int) -> int:
    """Columns of a position's values of one head: whole vectors."""
    return (head_dim + LANES - 1) // LANES * LANES


@internal(error_model="numpy")
def _largest(source: Any, start: int, count: int) -> Any:
    largest = broadcast(np.float32(0))
    for dim in range(0, count, LANES):
        largest = maximum(largest, absolute(load_first(source, start + dim, count - dim)))
    return max_of_lanes(largest)

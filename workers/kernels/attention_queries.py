# ruff: noqa: ARG001 - numba matches arguments by the names of all parameters, used or not
"""Queries of attention in scratch memory, as they are multiplied with the keys of a cache."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from cactus_actors.workers.kernels.cache_formats import LARGEST_INT8, TOGETHER, by_format
from cactus_actors.workers.kernels.cache_stores import ZERO_POINT, largest_of, steps_of
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
    load,
    load_lanes,
    nearest_integers,
    primitive,
    splat,
    store,
)


def pack_query(
    cache: Any, scratch: Any, packed: int, width: int, queries: Any, start: int, head_dim: int, factor: Any
) -> None:
    """Write the query of one head, times a factor, to `width` floats of scratch memory from `packed` on.

    For a cache of floats it is float32; `queries` is readable for 15 elements after it. For one of int8 it is an int8
    for each dimension, in steps of 1/127 of the largest, and after these what `scale_and_correction` reads.
    """
    raise NotImplementedError


def _pack_floats(
    cache: Any, scratch: Any, packed: int, width: int, queries: Any, start: int, head_dim: int, factor: Any
) -> None:
    for dim in range(0, width, LANES):
        store(scratch, packed + dim, load(queries, start + dim) * broadcast(factor))


def _pack_int8(
    cache: Any, scratch: Any, packed: int, width: int, queries: Any, start: int, head_dim: int, factor: Any
) -> None:
    largest = largest_of(queries, start, head_dim)
    total = _store_steps(scratch, packed, width, queries, start, head_dim, steps_of(largest))
    _store_record(scratch, packed + width // TOGETHER, largest / np.float32(LARGEST_INT8) * factor, total)


by_format(pack_query, _pack_floats, _pack_int8)


def scale_and_correction(builder: ir.IRBuilder, query: ir.Value, width: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Of a query in int8, at a pointer to floats: its scale, and minus its product with the zero points of a key."""
    record = builder.gep(query, [builder.lshr(width, index(2))])
    correction = builder.bitcast(builder.gep(record, [index(1)]), I32.as_pointer())
    return builder.load(record, align=4), builder.load(correction, align=4)


@primitive
def _store_steps(
    typing: Any, scratch: Any, packed: Any, width: Any, queries: Any, start: Any, head_dim: Any, steps: Any
) -> Any:
    """Write the query in steps as `width` int8; returns their sum."""

    def generate(context: Any, builder: ir.IRBuilder, _sig: Any, values: Any) -> ir.Value:
        scratch_value, packed, width, queries_value, start, head_dim, steps = values
        factors = splat(builder, steps, LANES)
        (total,) = variables(builder, [constant(INTEGERS, 0)])
        with counted(builder, index(0), width, LANES) as (dim, _):
            source = address(context, builder, queries, queries_value, builder.add(start, dim), FLOATS)
            lanes = builder.fmul(load_lanes(builder, source, builder.sub(head_dim, dim)), factors)
            integers = nearest_integers(builder, lanes)
            builder.store(builder.add(builder.load(total), integers), total)
            small = builder.trunc(integers, ir.VectorType(I8, LANES))
            at = builder.add(packed, builder.lshr(dim, index(2)))
            builder.store(small, address(context, builder, scratch, scratch_value, at, small.type), align=4)
        return call(builder, "llvm.vector.reduce.add.v16i32", I32, builder.load(total))

    return types.int32(scratch, types.intp, types.intp, queries, types.intp, types.intp, types.float32), generate


@primitive
def _store_record(typing: Any, scratch: Any, at: Any, scale: Any, total: Any) -> Any:
    def generate(context: Any, builder: ir.IRBuilder, _sig: Any, values: Any) -> ir.Value:
        scratch_value, at, scale, total = values
        record = address(context, builder, scratch, scratch_value, at, F32)
        builder.store(scale, record, align=4)
        correction = builder.bitcast(builder.gep(record, [index(1)]), I32.as_pointer())
        builder.store(builder.mul(total, I32(-ZERO_POINT)), correction, align=4)
        return context.get_dummy_value()

    return types.void(scratch, types.intp, types.float32, types.int32), generate

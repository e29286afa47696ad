# ruff: noqa: ARG001 - numba matches arguments by the names of all parameters, used or not
"""The two inner loops of attention for a tile of up to four rows, with its sums in registers.

A tile works on a chunk: four vectors of sixteen positions, each anywhere in the cache. Lanes never meet:
an element is reduced in the order of its dimensions or positions, whatever the tile around it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.core.codegen import get_host_cpu_features

from workers.kernels.cache import field, stored_bytes, widen
from workers.kernels.vectors import (
    F32,
    FLOATS,
    I8,
    I32,
    LANES,
    address,
    call,
    constant,
    multiply_add,
    primitive,
    splat,
    vector,
)

CHUNK_VECTORS = 4
CHUNK = CHUNK_VECTORS * LANES
MAX_HEIGHT = 4

PLACE = 4
"""Of one vector of positions: offsets of its keys, its values and its scales, and how many it has."""
PLACE_FLOATS = 2 * PLACE * CHUNK_VECTORS

INDEX = ir.IntType(64)


def _index(value: int) -> ir.Constant:
    return ir.Constant(INDEX, value)


def _wide() -> int:
    # Narrower CPUs have half the registers of half the width: they take one vector at a time.
    features = config.CPU_FEATURES if config.CPU_FEATURES is not None else get_host_cpu_features()
    return CHUNK_VECTORS if "+avx512f" in features.split(",") else 1


def _range(builder: ir.IRBuilder, start: ir.Value, stop: ir.Value, step: int = 1) -> Any:
    return cgutils.for_range_slice(builder, start, stop, _index(step), intp=INDEX)


def _variables(builder: ir.IRBuilder, count: int) -> list[ir.Value]:
    return [cgutils.alloca_once(builder, FLOATS) for _ in range(count)]


def _at(builder: ir.IRBuilder, pointer: ir.Value, offset: ir.Value, to: ir.Type) -> ir.Value:
    return builder.bitcast(builder.gep(pointer, [offset]), to.as_pointer())


def _each_height(builder: ir.IRBuilder, height: ir.Value, emit: Callable[[int], None]) -> None:
    done = builder.append_basic_block("tile.done")
    switch = builder.switch(height, done)
    for case in range(1, MAX_HEIGHT + 1):
        block = builder.append_basic_block(f"tile.{case}")
        switch.add_case(_index(case), block)
        builder.position_at_end(block)
        emit(case)
        builder.branch(done)
    builder.position_at_end(done)


class _Tile:
    """Pointers that both loops need."""

    def __init__(self, context: Any, builder: ir.IRBuilder, cache: Any, values: Any) -> None:
        self.context, self.builder, self.cache = context, builder, cache
        self.cache_value, self.places = values

    def array(self, name: str) -> Any:
        return field(self.context, self.builder, self.cache, self.cache_value, name)

    def extent(self, name: str, axis: int) -> ir.Value:
        array_type, array = self.array(name)
        shape = self.context.make_array(array_type)(self.context, self.builder, array).shape
        return self.builder.extract_value(shape, axis)

    def data(self, name: str) -> ir.Value:
        array_type, array = self.array(name)
        return self.context.make_array(array_type)(self.context, self.builder, array).data

    def dtype(self, name: str) -> Any:
        return self.array(name)[0].dtype

    def place(self, number: ir.Value, member: int) -> ir.Value:
        at = self.builder.add(self.builder.mul(number, _index(PLACE)), _index(member))
        return self.builder.load(self.builder.gep(self.places, [at]))


@primitive
def set_place(
    typing: Any, scratch: Any, at: Any, number: Any, key: Any, value: Any, scale: Any, count: Any
) -> Any:
    """Say where a vector of positions stands, in offsets of elements of the cache's arrays."""

    def generate(context: Any, builder: ir.IRBuilder, _sig: Any, values: Any) -> ir.Value:
        scratch_value, at, number, *members = values
        places = address(context, builder, scratch, scratch_value, at, INDEX)
        for member, content in enumerate(members):
            target = builder.add(builder.mul(number, _index(PLACE)), _index(member))
            builder.store(content, builder.gep(places, [target]))
        return context.get_dummy_value()

    return types.void(scratch, *[types.intp] * 6), generate


@primitive
def score(
    typing: Any,
    cache: Any,
    scratch: Any,
    places: Any,  # offset of the chunk's places
    first: Any,  # vectors first..last-1 of the chunk
    last: Any,
    height: Any,
    queries: Any,  # offset of the tile's first query; (height, query_width)
    query_width: Any,
    scores: Any,  # offset; (height, CHUNK)
) -> Any:
    """scores[row, position] = queries[row] . keys[position]."""

    def generate(context: Any, builder: ir.IRBuilder, _sig: Any, values: Any) -> ir.Value:
        cache_value, scratch_value, places, first, last, height, queries, query_width, scores = values
        places = address(context, builder, scratch, scratch_value, places, INDEX)
        queries = address(context, builder, scratch, scratch_value, queries, F32)
        scores = address(context, builder, scratch, scratch_value, scores, F32)
        tile = _Tile(context, builder, cache, (cache_value, places))
        head_dim, stride = tile.extent("keys", 3), tile.extent("keys", 4)
        keys, dtype = tile.data("keys"), tile.dtype("keys")

        def emit(rows: int, start: ir.Value, width: int) -> None:
            numbers = [builder.add(start, _index(column)) for column in range(width)]
            blocks = [builder.gep(keys, [tile.place(number, 0)]) for number in numbers]
            lines = [builder.gep(queries, [builder.mul(query_width, _index(row))]) for row in range(rows)]
            sums = _variables(builder, rows * width)
            for total in sums:
                builder.store(constant(FLOATS, 0.0), total)
            with _range(builder, _index(0), head_dim) as (dim, _):
                offset = builder.mul(dim, stride)
                lanes = [widen(builder, dtype, builder.gep(block, [offset])) for block in blocks]
                for row, line in enumerate(lines):
                    query = splat(builder, builder.load(builder.gep(line, [dim])), LANES)
                    for column, lane in enumerate(lanes):
                        total = sums[row * width + column]
                        builder.store(multiply_add(builder, query, lane, builder.load(total)), total)
            for column, number in enumerate(numbers):
                scale = None
                if "key_scales" in cache.fields:
                    scale = widen(
                        builder, types.float32, builder.gep(tile.data("key_scales"), [tile.place(number, 2)])
                    )
                for row in range(rows):
                    result = builder.load(sums[row * width + column])
                    if scale is not None:
                        result = builder.fmul(result, scale)
                    at = builder.add(builder.mul(number, _index(LANES)), _index(row * CHUNK))
                    builder.store(result, _at(builder, scores, at, FLOATS), align=4)

        def narrow(rows: int) -> None:
            with _range(builder, first, last) as (number, _):
                emit(rows, number, 1)

        def whole(rows: int) -> None:
            full = builder.icmp_signed("==", builder.sub(last, first), _index(CHUNK_VECTORS))
            with builder.if_else(full) as (then, otherwise):
                with then:
                    emit(rows, first, CHUNK_VECTORS)
                with otherwise:
                    narrow(rows)

        _each_height(builder, height, whole if _wide() > 1 else narrow)
        return context.get_dummy_value()

    return types.void(cache, scratch, *[types.intp] * 7), generate


@primitive
def scale_weights(typing: Any, cache: Any, scratch: Any, places: Any, number: Any, weights: Any) -> Any:
    """Weights of a vector of positions, times the scales of their values if the format has such."""

    def generate(context: Any, builder: ir.IRBuilder, _sig: Any, values: Any) -> ir.Value:
        cache_value, scratch_value, places, number, weights = values
        if "value_scales" not in cache.fields:
            return weights
        places = address(context, builder, scratch, scratch_value, places, INDEX)
        tile = _Tile(context, builder, cache, (cache_value, places))
        scales = builder.gep(tile.data("value_scales"), [tile.place(number, 2)])
        return builder.fmul(weights, widen(builder, types.float32, scales))

    return vector(cache, scratch, types.intp, types.intp, vector), generate


@primitive
def mix(
    typing: Any,
    cache: Any,
    scratch: Any,
    places: Any,  # offset of the chunk's places
    first: Any,  # lanes first..last-1 of the chunk
    last: Any,
    height: Any,
    weights: Any,  # offset; (height, CHUNK)
    sums: Any,  # offset; (height, width of a position's values)
) -> Any:
    """sums[row] += weights[row, position] * values[position], over positions in order."""

    def generate(context: Any, builder: ir.IRBuilder, _sig: Any, values: Any) -> ir.Value:
        cache_value, scratch_value, places, first, last, height, weights, sums = values
        places = address(context, builder, scratch, scratch_value, places, INDEX)
        weights = address(context, builder, scratch, scratch_value, weights, F32)
        sums = address(context, builder, scratch, scratch_value, sums, F32)
        tile = _Tile(context, builder, cache, (cache_value, places))
        block_size, width = tile.extent("values", 3), tile.extent("values", 4)
        stored, dtype = tile.data("values"), tile.dtype("values")
        first_vector = builder.ashr(first, _index(4))
        stop_vector = builder.ashr(builder.add(last, _index(LANES - 1)), _index(4))

        def emit(rows: int, columns: ir.Value, count: int) -> None:
            targets = [
                _at(
                    builder,
                    sums,
                    builder.add(
                        builder.add(columns, builder.mul(width, _index(row))), _index(column * LANES)
                    ),
                    FLOATS,
                )
                for row in range(rows)
                for column in range(count)
            ]
            totals = _variables(builder, rows * count)
            for total, target in zip(totals, targets, strict=True):
                builder.store(builder.load(target, align=4), total)
            with _range(builder, first_vector, stop_vector) as (number, _):
                begin = builder.mul(number, _index(LANES))
                low = _larger(builder, builder.sub(first, begin), _index(0))
                high = _smaller(builder, builder.sub(last, begin), tile.place(number, 3))
                block = builder.gep(stored, [builder.add(tile.place(number, 1), columns)])
                factors = builder.gep(weights, [begin])
                with _range(builder, low, high) as (position, _):
                    line = builder.gep(block, [builder.mul(position, width)])
                    lanes = [
                        widen(builder, dtype, builder.gep(line, [_index(column * LANES)]))
                        for column in range(count)
                    ]
                    at = builder.gep(factors, [position])
                    for row in range(rows):
                        weight = builder.load(builder.gep(at, [_index(row * CHUNK)]))
                        weight = splat(builder, weight, LANES)
                        for column, lane in enumerate(lanes):
                            total = totals[row * count + column]
                            builder.store(multiply_add(builder, weight, lane, builder.load(total)), total)
            for total, target in zip(totals, targets, strict=True):
                builder.store(builder.load(total), target, align=4)

        def whole(rows: int) -> None:
            side = _wide() * LANES
            wide_stop = builder.and_(width, _index(-side))
            with _range(builder, _index(0), wide_stop, side) as (columns, _):
                emit(rows, columns, _wide())
            if side > LANES:
                with _range(builder, wide_stop, width, LANES) as (columns, _):
                    emit(rows, columns, 1)

        _each_height(builder, height, whole)
        return context.get_dummy_value()

    return types.void(cache, scratch, *[types.intp] * 6), generate


def _larger(builder: ir.IRBuilder, a: ir.Value, b: ir.Value) -> ir.Value:
    return builder.select(builder.icmp_signed(">", a, b), a, b)


def _smaller(builder: ir.IRBuilder, a: ir.Value, b: ir.Value) -> ir.Value:
    return builder.select(builder.icmp_signed("<", a, b), a, b)

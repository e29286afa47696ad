# ruff: noqa: ARG001 - numba matches arguments by the names of all parameters, used or not
"""The two inner loops of attention for a tile of up to four rows, with its sums in registers.

A tile works on a chunk: four vectors of sixteen positions, each anywhere in the cache. Lanes never meet:
an element is reduced in the order of its dimensions or positions, whatever the tile around it.
"""

from __future__ import annotations

import math
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
    I32,
    INTEGERS,
    LANES,
    address,
    any_lane_of,
    call,
    constant,
    larger_of,
    largest_lane_of,
    multiply_add,
    power_of_two_of,
    primitive,
    splat,
)

CHUNK_VECTORS = 4
CHUNK = CHUNK_VECTORS * LANES
MAX_HEIGHT = 4

RECORD = 4
RECORD_FLOATS = 2 * RECORD
"""Integers stand in the scratch as records of four.

The place of a vector of positions: offsets of its keys, of its values and of its scales, and how many
positions it has. The range of a row: its first lane and the one behind its last, counted from position 0.
"""

SCALES = ("key_scales", "value_scales")
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


def _prefetch(builder: ir.IRBuilder, pointer: ir.Value) -> None:
    pointer = builder.bitcast(pointer, ir.IntType(8).as_pointer())
    one = ir.IntType(32)
    call(builder, "llvm.prefetch.p0", ir.VoidType(), pointer, one(0), one(2), one(1))


def _call_once_written(
    builder: ir.IRBuilder, name: str, operands: list[ir.Value], write: Callable[..., None]
) -> None:
    # One copy of a tile's code, however often and deep it is inlined: compiling it is what takes the time.
    function = builder.module.globals.get(name)
    if function is None:
        kind = ir.FunctionType(ir.VoidType(), [operand.type for operand in operands])
        function = ir.Function(builder.module, kind, name)
        function.linkage = "linkonce_odr"
        function.attributes.add("noinline")
        function.attributes.add("optsize")
        body = ir.IRBuilder(function.append_basic_block("entry"))
        write(body, *function.args)
        body.ret_void()
    builder.call(function, operands)


class _Cache:
    """Arrays of a cache seen from LLVM IR."""

    def __init__(self, context: Any, builder: ir.IRBuilder, cache_type: Any, cache: ir.Value) -> None:
        self._context, self._builder, self._type, self._value = context, builder, cache_type, cache

    def extent(self, name: str, axis: int) -> ir.Value:
        return self._builder.extract_value(self._array(name).shape, axis)

    def data(self, name: str) -> ir.Value:
        return self._array(name).data

    def _array(self, name: str) -> Any:
        array_type, array = field(self._context, self._builder, self._type, self._value, name)
        return self._context.make_array(array_type)(self._context, self._builder, array)


def _dtype(cache_type: Any, name: str) -> Any:
    return cache_type.types[cache_type.fields.index(name)].dtype


def _member(builder: ir.IRBuilder, records: ir.Value, number: ir.Value, member: int) -> ir.Value:
    at = builder.add(builder.mul(number, _index(RECORD)), _index(member))
    return builder.load(builder.gep(records, [at]))


@primitive
def set_record(typing: Any, scratch: Any, at: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    """Write one record at an offset of the scratch."""

    def generate(context: Any, builder: ir.IRBuilder, _sig: Any, values: Any) -> ir.Value:
        scratch_value, at, *members = values
        record = address(context, builder, scratch, scratch_value, at, INDEX)
        for member, value in enumerate(members):
            builder.store(value, builder.gep(record, [_index(member)]))
        return context.get_dummy_value()

    return types.void(scratch, *[types.intp] * 5), generate


@primitive
def get_range(typing: Any, scratch: Any, at: Any) -> Any:
    """The first two members of a record."""
    pair = types.UniTuple(types.intp, 2)

    def generate(context: Any, builder: ir.IRBuilder, _sig: Any, values: Any) -> ir.Value:
        record = address(context, builder, scratch, *values, INDEX)
        return context.make_tuple(builder, pair, [_member(builder, record, _index(0), m) for m in (0, 1)])

    return pair(scratch, types.intp), generate


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
    dtype = _dtype(cache, "keys")
    scaled = "key_scales" in cache.fields

    def generate(context: Any, builder: ir.IRBuilder, _sig: Any, values: Any) -> ir.Value:
        cache_value, scratch_value, places, first, last, height, queries, query_width, scores = values
        arrays = _Cache(context, builder, cache, cache_value)
        keys = arrays.data("keys")
        operands = [
            arrays.data("values"),
            keys,
            *(arrays.data(name) if scaled else builder.bitcast(keys, F32.as_pointer()) for name in SCALES),
            arrays.extent("keys", 3),
            arrays.extent("keys", 4),
            address(context, builder, scratch, scratch_value, places, INDEX),
            first,
            last,
            height,
            address(context, builder, scratch, scratch_value, queries, F32),
            query_width,
            address(context, builder, scratch, scratch_value, scores, F32),
        ]
        _call_once_written(builder, f"cactus_attention_score_{dtype}", operands, write)
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
            numbers = [builder.add(start, _index(column)) for column in range(width)]
            blocks = [builder.gep(keys, [_member(builder, places, number, 0)]) for number in numbers]
            next_values = [builder.gep(values, [_member(builder, places, number, 1)]) for number in numbers]
            lines = [builder.gep(queries, [builder.mul(query_width, _index(row))]) for row in range(rows)]
            sums = _variables(builder, rows * width)
            for total in sums:
                builder.store(constant(FLOATS, 0.0), total)
            for number in numbers if scaled else ():
                for array in (scales, value_scales):
                    _prefetch(builder, builder.gep(array, [_member(builder, places, number, 2)]))
            with _range(builder, _index(0), head_dim, 2) as (even, _):
                for dim in (even, builder.add(even, _index(1))):
                    offset = builder.mul(dim, stride)
                    if dim is even or dtype == types.float32:
                        for block in next_values:
                            _prefetch(builder, builder.gep(block, [offset]))
                    lanes = [widen(builder, dtype, builder.gep(block, [offset])) for block in blocks]
                    for row, line in enumerate(lines):
                        query = splat(builder, builder.load(builder.gep(line, [dim])), LANES)
                        for column, lane in enumerate(lanes):
                            total = sums[row * width + column]
                            builder.store(multiply_add(builder, query, lane, builder.load(total)), total)
            for column, number in enumerate(numbers):
                scale = builder.gep(scales, [_member(builder, places, number, 2)])
                scale = widen(builder, types.float32, scale) if scaled else None
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

    return types.void(cache, scratch, *[types.intp] * 7), generate


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
    """weights = 2^(scores - largest) inside the row's range, 0 outside; sums shrink as `largest` grows."""
    scaled = "value_scales" in cache.fields

    def generate(context: Any, builder: ir.IRBuilder, _sig: Any, values: Any) -> ir.Value:
        cache_value, scratch_value, places, chunk, height, ranges, scores, sums, width, states = values
        places, ranges = (
            address(context, builder, scratch, scratch_value, offset, INDEX) for offset in (places, ranges)
        )
        scores, sums, states = (
            address(context, builder, scratch, scratch_value, offset, F32)
            for offset in (scores, sums, states)
        )
        scales = _Cache(context, builder, cache, cache_value).data("value_scales") if scaled else scores
        operands = [scales, places, chunk, height, ranges, scores, sums, width, states]
        _call_once_written(builder, f"cactus_attention_weigh_{scaled}", operands, write)
        return context.get_dummy_value()

    def write(builder: ir.IRBuilder, *given: ir.Value) -> None:
        scales, places, chunk, height, ranges, scores, sums, width, states = given
        with _range(builder, _index(0), height) as (row, _):
            low, high = (builder.sub(_member(builder, ranges, row, member), chunk) for member in (0, 1))
            inside = builder.and_(
                builder.icmp_signed(">", high, _index(0)), builder.icmp_signed("<", low, _index(CHUNK))
            )
            with builder.if_then(inside):
                scores_of_row = builder.gep(scores, [builder.mul(row, _index(CHUNK))])
                sums_of_row = builder.gep(sums, [builder.mul(row, width)])
                state = builder.gep(states, [builder.mul(row, _index(2 * LANES))])
                _weigh_row(builder, scales, places, low, high, scores_of_row, sums_of_row, width, state)

    def _weigh_row(
        builder: ir.IRBuilder,
        scales: ir.Value,
        places: ir.Value,
        low: ir.Value,
        high: ir.Value,
        scores: ir.Value,
        sums: ir.Value,
        width: ir.Value,
        state: ir.Value,
    ) -> None:
        top_at = _at(builder, state, _index(0), FLOATS)
        mass_at = _at(builder, state, _index(LANES), FLOATS)
        before, mass = builder.load(top_at, align=4), builder.load(mass_at, align=4)
        targets = [_at(builder, scores, _index(number * LANES), FLOATS) for number in range(CHUNK_VECTORS)]
        masked = []
        for number, target in enumerate(targets):
            begin = _index(number * LANES)
            count = _member(builder, places, _index(number), 3)
            first = builder.sub(low, begin)
            stop = _smaller(builder, builder.sub(high, begin), count)
            lane = ir.Constant(INTEGERS, list(range(LANES)))
            first, stop = (splat(builder, builder.trunc(bound, I32), LANES) for bound in (first, stop))
            attended = builder.and_(
                builder.icmp_signed(">=", lane, first), builder.icmp_signed("<", lane, stop)
            )
            masked.append(
                builder.select(attended, builder.load(target, align=4), constant(FLOATS, -math.inf))
            )
        pairs = [larger_of(builder, masked[number], masked[number + 1]) for number in (0, 2)]
        largest = larger_of(builder, *pairs)

        top = cgutils.alloca_once_value(builder, before)
        total = cgutils.alloca_once_value(builder, mass)
        with builder.if_then(any_lane_of(builder, builder.fcmp_ordered(">", largest, before))):
            largest = largest_lane_of(builder, larger_of(builder, largest, before))
            shrink = power_of_two_of(builder, builder.fsub(before, largest))
            builder.store(largest, top)
            builder.store(builder.fmul(mass, shrink), total)
            with _range(builder, _index(0), width, LANES) as (column, _):
                target = _at(builder, sums, column, FLOATS)
                builder.store(builder.fmul(builder.load(target, align=4), shrink), target, align=4)
            builder.store(largest, top_at, align=4)

        largest, mass = builder.load(top), builder.load(total)
        weights = [power_of_two_of(builder, builder.fsub(score, largest)) for score in masked]
        first, second = (builder.fadd(weights[number], weights[number + 1]) for number in (0, 2))
        builder.store(builder.fadd(mass, builder.fadd(first, second)), mass_at, align=4)
        for number, (weight, target) in enumerate(zip(weights, targets, strict=True)):
            if scaled:
                scale = builder.gep(scales, [_member(builder, places, _index(number), 2)])
                weight = builder.fmul(weight, widen(builder, types.float32, scale))
            builder.store(weight, target, align=4)

    return types.void(cache, scratch, *[types.intp] * 8), generate


@primitive
def mix(
    typing: Any,
    cache: Any,
    scratch: Any,
    places: Any,  # offset of the chunk's places
    next_places: Any,
    first: Any,  # lanes first..last-1 of the chunk
    last: Any,
    height: Any,
    weights: Any,  # offset; (height, CHUNK)
    sums: Any,  # offset; (height, width of a position's values)
) -> Any:
    """sums[row] += weights[row, position] * values[position], over positions in order.

    Meanwhile the keys of the next chunk are fetched.
    """
    dtype = _dtype(cache, "values")

    def generate(context: Any, builder: ir.IRBuilder, _sig: Any, values: Any) -> ir.Value:
        cache_value, scratch_value, places, next_places, first, last, height, weights, sums = values
        arrays = _Cache(context, builder, cache, cache_value)
        operands = [
            arrays.data("keys"),
            address(context, builder, scratch, scratch_value, next_places, INDEX),
            arrays.data("values"),
            arrays.extent("values", 4),
            address(context, builder, scratch, scratch_value, places, INDEX),
            first,
            last,
            height,
            address(context, builder, scratch, scratch_value, weights, F32),
            address(context, builder, scratch, scratch_value, sums, F32),
        ]
        _call_once_written(builder, f"cactus_attention_mix_{dtype}", operands, write)
        return context.get_dummy_value()

    def write(builder: ir.IRBuilder, *given: ir.Value) -> None:
        keys, next_places, stored, width, places, first, last, height, weights, sums = given
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
                high = _smaller(builder, builder.sub(last, begin), _member(builder, places, number, 3))
                block = builder.gep(stored, [builder.add(_member(builder, places, number, 1), columns)])
                factors = builder.gep(weights, [begin])
                following = builder.gep(
                    keys, [builder.add(_member(builder, next_places, number, 0), columns)]
                )
                with _range(builder, low, high) as (position, _):
                    offset = builder.mul(position, width)
                    line = builder.gep(block, [offset])
                    ahead = builder.gep(following, [offset])
                    for column in range(0, count, 4 // stored_bytes(dtype)):
                        _prefetch(builder, builder.gep(ahead, [_index(column * LANES)]))
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

    return types.void(cache, scratch, *[types.intp] * 7), generate


def _larger(builder: ir.IRBuilder, a: ir.Value, b: ir.Value) -> ir.Value:
    return builder.select(builder.icmp_signed(">", a, b), a, b)


def _smaller(builder: ir.IRBuilder, a: ir.Value, b: ir.Value) -> ir.Value:
    return builder.select(builder.icmp_signed("<", a, b), a, b)

# ruff: noqa: ARG001 - numba matches arguments by the names of all parameters, used or not
"""Shared parts of attention tiles: sizes, integers in scratch memory, pieces of LLVM IR.

A tile is up to four rows (a token's head each) times a chunk: four vectors of sixteen positions, each anywhere
in the cache. Lanes are independent: an element is reduced in the order of its dimensions or positions in every
tile.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types

from cactus_actors.workers.kernels.cache_formats import field
from cactus_actors.workers.kernels.instruction_sets import cpu_features
from cactus_actors.workers.kernels.llvm_loops import counted
from cactus_actors.workers.kernels.simd import (
    FLOATS,
    INDEX,
    LANES,
    address,
    index,
    primitive,
)

CHUNK_VECTORS = 4
CHUNK = CHUNK_VECTORS * LANES
MAX_HEIGHT = 4

RECORD = 4
RECORD_FLOATS = 2 * RECORD
"""Integers are stored in scratch memory as records of four.

The place of a vector of positions: offsets of its keys, of its values and of its scales, and how many
positions it has. The range of a row: its first lane and the one after its last, counted from position 0, and the
offset of its result.
"""


def wide_vectors() -> int:
    """Vectors side by side in a tile: others than AVX-512 lack the registers for more than one."""
    return CHUNK_VECTORS if "avx512f" in cpu_features() else 1


def vector_at(builder: ir.IRBuilder, pointer: ir.Value, offset: ir.Value) -> ir.Value:
    """Pointer to sixteen floats."""
    return builder.bitcast(builder.gep(pointer, [offset]), FLOATS.as_pointer())


def each_height(builder: ir.IRBuilder, height: ir.Value, emit: Callable[[int], None]) -> None:
    """Emit the code of every tile height, selected by a switch."""
    done = builder.append_basic_block("tile.done")
    switch = builder.switch(height, done)
    for case in range(1, MAX_HEIGHT + 1):
        block = builder.append_basic_block(f"tile.{case}")
        switch.add_case(index(case), block)
        builder.position_at_end(block)
        emit(case)
        builder.branch(done)
    builder.position_at_end(done)


def each_vector(
    builder: ir.IRBuilder,
    height: ir.Value,
    first: ir.Value,
    last: ir.Value,
    emit: Callable[[int, ir.Value, int], None],
) -> None:
    """Emit code for vectors first..last-1 of a chunk: for all at once if they are the whole chunk, else one by one.

    `emit` takes the number of rows, the first vector, and how many there are.
    """

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


def call_shared(builder: ir.IRBuilder, name: str, operands: list[ir.Value], write: Callable[..., None]) -> None:
    """Call a function that `write(builder, *arguments)` fills when a module first needs it.

    One copy of a tile's code for all callers, because its compilation is slow.
    """
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


class CacheArrays:
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


def dtype_of(cache_type: Any, name: str) -> Any:
    """numba's type of an array's elements."""
    return cache_type.types[cache_type.fields.index(name)].dtype


def member_of(builder: ir.IRBuilder, records: ir.Value, number: ir.Value, member: int) -> ir.Value:
    """One integer of a record."""
    at = builder.add(builder.mul(number, index(RECORD)), index(member))
    return builder.load(builder.gep(records, [at]))


def larger_index(builder: ir.IRBuilder, a: ir.Value, b: ir.Value) -> ir.Value:
    """The larger of two integers."""
    return builder.select(builder.icmp_signed(">", a, b), a, b)


def smaller_index(builder: ir.IRBuilder, a: ir.Value, b: ir.Value) -> ir.Value:
    """The smaller of two integers."""
    return builder.select(builder.icmp_signed("<", a, b), a, b)


@primitive
def set_record(typing: Any, scratch: Any, at: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    """Write one record at an offset of the scratch."""

    def generate(context: Any, builder: ir.IRBuilder, _sig: Any, values: Any) -> ir.Value:
        scratch_value, at, *members = values
        record = address(context, builder, scratch, scratch_value, at, INDEX)
        for member, value in enumerate(members):
            builder.store(value, builder.gep(record, [index(member)]))
        return context.get_dummy_value()

    return types.void(scratch, *[types.intp] * 5), generate


@primitive
def get_pair(typing: Any, scratch: Any, at: Any) -> Any:
    """The first two members of a record."""
    pair = types.UniTuple(types.intp, 2)

    def generate(context: Any, builder: ir.IRBuilder, _sig: Any, values: Any) -> ir.Value:
        record = address(context, builder, scratch, values[0], values[1], INDEX)
        return context.make_tuple(builder, pair, [member_of(builder, record, index(0), m) for m in (0, 1)])

    return pair(scratch, types.intp), generate


@primitive
def get_third(typing: Any, scratch: Any, at: Any) -> Any:
    """The third member of a record."""

    def generate(context: Any, builder: ir.IRBuilder, _sig: Any, values: Any) -> ir.Value:
        record = address(context, builder, scratch, values[0], values[1], INDEX)
        return member_of(builder, record, index(0), 2)

    return types.intp(scratch, types.intp), generate

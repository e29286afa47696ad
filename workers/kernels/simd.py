"""Sixteen float32 lanes as one value of compiled code, with their operations.

Compiled functions use them like numbers (`a * b + c`); the generated code is the same vector instruction in
every context, so the result of a lane does not depend on the loop around it. On CPUs with narrower registers
LLVM splits the lanes.
"""

# ruff: noqa: ARG001 - numba matches arguments by the names of all parameters, used or not

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core.typing import signature
from numba.core.typing.templates import ConcreteTemplate, infer_global
from numba.extending import intrinsic, lower_builtin, models, register_model

LANES = 16

I8, I32, INDEX, F32 = ir.IntType(8), ir.IntType(32), ir.IntType(64), ir.FloatType()
FLOATS = ir.VectorType(F32, LANES)
INTEGERS = ir.VectorType(I32, LANES)


def primitive(define: Callable[..., Any]) -> Callable[..., Any]:
    """A function of compiled code written as LLVM IR: `define(typing, *types)` -> (signature, generator)."""
    return intrinsic(define)  # type: ignore[no-any-return]  # numba is untyped


class VectorType(types.Type):  # type: ignore[misc]  # numba is untyped
    """numba's name for sixteen float32 lanes."""

    def __init__(self) -> None:
        super().__init__(name="float32x16")


vector = VectorType()


@register_model(VectorType)
class VectorModel(models.PrimitiveModel):  # type: ignore[misc]  # numba is untyped
    """A vector travels in one LLVM vector register (or several narrower ones)."""

    def __init__(self, manager: Any, numba_type: Any) -> None:
        super().__init__(manager, numba_type, FLOATS)


def index(value: int) -> ir.Constant:
    """A constant offset or extent."""
    return ir.Constant(INDEX, value)


def constant(llvm_type: ir.VectorType, value: float) -> ir.Constant:
    """A vector with this constant in every lane."""
    return ir.Constant(llvm_type, [value] * llvm_type.count)


def splat(builder: ir.IRBuilder, scalar: ir.Value, count: int) -> ir.Value:
    """A vector with the scalar in each of `count` lanes."""
    wide = ir.VectorType(scalar.type, count)
    first = builder.insert_element(ir.Constant(wide, ir.Undefined), scalar, ir.Constant(I32, 0))
    return builder.shuffle_vector(
        first, ir.Constant(wide, ir.Undefined), ir.Constant(ir.VectorType(I32, count), [0] * count)
    )


def call(builder: ir.IRBuilder, name: str, result: ir.Type, *operands: ir.Value) -> ir.Value:
    """Call the LLVM intrinsic of that full name."""
    kind = ir.FunctionType(result, [operand.type for operand in operands])
    function = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
    return builder.call(function, operands)


def prefetch(builder: ir.IRBuilder, pointer: ir.Value, level: int = 2) -> None:
    """Fetch a line into the cache of a level, 1 or 2: misses on the way to the first are few at a time."""
    pointer = builder.bitcast(pointer, ir.IntType(8).as_pointer())
    one = ir.IntType(32)
    call(builder, "llvm.prefetch.p0", ir.VoidType(), pointer, one(0), one(4 - level), one(1))


def prefetch_for_write(builder: ir.IRBuilder, pointer: ir.Value) -> None:
    """Fetch a line into the first-level cache, taken from the other cores."""
    pointer = builder.bitcast(pointer, ir.IntType(8).as_pointer())
    one = ir.IntType(32)
    call(builder, "llvm.prefetch.p0", ir.VoidType(), pointer, one(1), one(3), one(1))


def multiply_add(builder: ir.IRBuilder, a: ir.Value, b: ir.Value, c: ir.Value) -> ir.Value:
    """a * b + c, rounded once on every CPU that can: one choice for a machine, never for a loop."""
    return call(builder, f"llvm.fmuladd.v{a.type.count}f32", a.type, a, b, c)


def nearest_integers(builder: ir.IRBuilder, a: ir.Value) -> ir.Value:
    """Lanes of magnitude below 2^22 as integers, ties to even: a sum with 1.5 * 2^23 ends in the integer."""
    magic = constant(FLOATS, 1.5 * 2**23)
    bits = builder.bitcast(builder.fadd(a, magic), INTEGERS)
    return builder.sub(bits, builder.bitcast(magic, INTEGERS))


def address(
    context: Any, builder: ir.IRBuilder, array_type: Any, array: ir.Value, offset: ir.Value, to: ir.Type
) -> ir.Value:
    """Pointer to the element of a C-contiguous array at this flat offset, as a pointer to `to`."""
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [offset]), to.as_pointer())


def operation(*operands: Any, result: Any = vector) -> Callable[[Callable[..., ir.Value]], Any]:
    """An operation of compiled code on fixed operand types, written as `emit(builder, *values)`."""

    def wrap(emit: Callable[..., ir.Value]) -> Any:
        def generate(context: Any, builder: ir.IRBuilder, _signature: Any, values: Any) -> ir.Value:
            return emit(builder, *values)

        def typed_1(typing: Any, a: Any) -> Any:
            return signature(result, *operands), generate

        def typed_2(typing: Any, a: Any, b: Any) -> Any:
            return signature(result, *operands), generate

        def typed_3(typing: Any, a: Any, b: Any, c: Any) -> Any:
            return signature(result, *operands), generate

        typed: Callable[..., Any] = (typed_1, typed_2, typed_3)[len(operands) - 1]
        typed.__name__ = typed.__qualname__ = emit.__name__
        typed.__doc__ = emit.__doc__
        return primitive(typed)

    return wrap


for _symbol, _instruction in ((operator.add, "fadd"), (operator.sub, "fsub"), (operator.mul, "fmul")):

    @infer_global(_symbol)
    class _Arithmetic(ConcreteTemplate):  # type: ignore[misc]  # numba is untyped
        cases = (signature(vector, vector, vector),)

    def _lower(
        _context: Any, builder: ir.IRBuilder, _sig: Any, values: Any, instruction: str = _instruction
    ) -> ir.Value:
        return getattr(builder, instruction)(*values)

    lower_builtin(_symbol, vector, vector)(_lower)


@primitive
def load(typing: Any, array: Any, offset: Any) -> Any:
    """Sixteen floats from a contiguous float32 array, at a flat offset."""

    def generate(context: Any, builder: ir.IRBuilder, _sig: Any, values: Any) -> ir.Value:
        return builder.load(address(context, builder, array, values[0], values[1], FLOATS), align=4)

    return vector(array, types.intp), generate


@primitive
def store(typing: Any, array: Any, offset: Any, value: Any) -> Any:
    """Sixteen floats into a contiguous float32 array, at a flat offset."""

    def generate(context: Any, builder: ir.IRBuilder, _sig: Any, values: Any) -> ir.Value:
        builder.store(values[2], address(context, builder, array, values[0], values[1], FLOATS), align=4)
        return context.get_dummy_value()

    return types.void(array, types.intp, vector), generate


@primitive
def spread(typing: Any, array: Any, offset: Any) -> Any:
    """One float of a contiguous float32 array, at a flat offset, in every lane."""

    def generate(context: Any, builder: ir.IRBuilder, _sig: Any, values: Any) -> ir.Value:
        pointer = address(context, builder, array, values[0], values[1], F32)
        return splat(builder, builder.load(pointer, align=4), LANES)

    return vector(array, types.intp), generate


def lanes_below(builder: ir.IRBuilder, count: ir.Value) -> ir.Value:
    """Truth values: those of the first `count` lanes are true."""
    lane = ir.Constant(INTEGERS, list(range(LANES)))
    return builder.icmp_signed("<", lane, splat(builder, builder.trunc(count, I32), LANES))


def load_lanes(builder: ir.IRBuilder, pointer: ir.Value, count: ir.Value) -> ir.Value:
    """The first `count` floats at a pointer to sixteen, then zeros; no other is read."""
    name, inside = "llvm.masked.load.v16f32.p0", lanes_below(builder, count)
    return call(builder, name, FLOATS, pointer, ir.Constant(I32, 4), inside, constant(FLOATS, 0.0))


@primitive
def load_first(typing: Any, array: Any, offset: Any, count: Any) -> Any:
    """The first `count` (0..16) floats from a flat offset, then zeros; no other is read."""

    def generate(context: Any, builder: ir.IRBuilder, _sig: Any, values: Any) -> ir.Value:
        return load_lanes(builder, address(context, builder, array, values[0], values[1], FLOATS), values[2])

    return vector(array, types.intp, types.int64), generate


@primitive
def store_first(typing: Any, array: Any, offset: Any, value: Any, count: Any) -> Any:
    """The first `count` (0..16) lanes to a flat offset; other memory is not touched."""

    def generate(context: Any, builder: ir.IRBuilder, _sig: Any, values: Any) -> ir.Value:
        pointer = address(context, builder, array, values[0], values[1], FLOATS)
        inside = lanes_below(builder, values[3])
        name = "llvm.masked.store.v16f32.p0"
        call(builder, name, ir.VoidType(), values[2], pointer, ir.Constant(I32, 4), inside)
        return context.get_dummy_value()

    return types.void(array, types.intp, vector, types.int64), generate


@primitive
def fetch(typing: Any, array: Any, index: Any) -> Any:
    """Fetch the line of an element into the cache."""

    def generate(context: Any, builder: ir.IRBuilder, _sig: Any, given: Any) -> ir.Value:
        prefetch(builder, address(context, builder, array, given[0], given[1], I8))
        return context.get_dummy_value()

    return types.void(array, types.intp), generate


@primitive
def fetch_for_write(typing: Any, array: Any, index: Any) -> Any:
    """Fetch the line of an element into the first-level cache, taken from the other cores."""

    def generate(context: Any, builder: ir.IRBuilder, _sig: Any, given: Any) -> ir.Value:
        prefetch_for_write(builder, address(context, builder, array, given[0], given[1], I8))
        return context.get_dummy_value()

    return types.void(array, types.intp), generate


@operation(types.float32)
def broadcast(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    """A vector with the float in every lane."""
    return splat(builder, value, LANES)


@operation(vector, vector, vector)
def fma(builder: ir.IRBuilder, a: ir.Value, b: ir.Value, c: ir.Value) -> ir.Value:
    """a * b + c."""
    return multiply_add(builder, a, b, c)


@operation(vector, vector)
def divide(builder: ir.IRBuilder, a: ir.Value, b: ir.Value) -> ir.Value:
    """a / b."""
    return builder.fdiv(a, b)


@operation(vector, vector)
def maximum(builder: ir.IRBuilder, a: ir.Value, b: ir.Value) -> ir.Value:
    """The larger of a and b; NaN if either is NaN, so that a broken row stays visible."""
    return call(builder, "llvm.maximum.v16f32", FLOATS, a, b)


@operation(vector, vector)
def minimum(builder: ir.IRBuilder, a: ir.Value, b: ir.Value) -> ir.Value:
    """The smaller of a and b; NaN if either is NaN."""
    return call(builder, "llvm.minimum.v16f32", FLOATS, a, b)


@operation(vector)
def absolute(builder: ir.IRBuilder, a: ir.Value) -> ir.Value:
    """|a|."""
    return call(builder, "llvm.fabs.v16f32", FLOATS, a)


@operation(vector, types.int64)
def keep_first(builder: ir.IRBuilder, a: ir.Value, count: ir.Value) -> ir.Value:
    """Lanes from `count` on become -inf."""
    inside = lanes_below(builder, count)
    return builder.select(inside, a, constant(FLOATS, -math.inf))


def _fold(builder: ir.IRBuilder, a: ir.Value, combine: Callable[..., ir.Value]) -> ir.Value:
    # A fixed tree: lane i with lane i + 8, then + 4, + 2, + 1.
    for distance in (8, 4, 2, 1):
        mask = ir.Constant(INTEGERS, [(lane + distance) % LANES for lane in range(LANES)])
        a = combine(a, builder.shuffle_vector(a, a, mask))
    return builder.extract_element(a, ir.Constant(I32, 0))


@operation(vector, result=types.float32)
def sum_of_lanes(builder: ir.IRBuilder, a: ir.Value) -> ir.Value:
    """The lanes added up, always in the same order."""
    return _fold(builder, a, builder.fadd)


@operation(vector, result=types.float32)
def max_of_lanes(builder: ir.IRBuilder, a: ir.Value) -> ir.Value:
    """The largest lane."""
    return _fold(builder, a, lambda b, c: call(builder, "llvm.maximum.v16f32", FLOATS, b, c))


def _powers(builder: ir.IRBuilder, a: ir.Value) -> tuple[ir.Value, ir.Value, ir.Value]:
    """2^n, r and (e^r - 1) / r with e^a = 2^n * e^r, for -87 <= a <= 88.3 or NaN.

    n = round(a / ln 2), so |r| <= ln(2) / 2; the last is from the Taylor polynomial of degree 7 of e^r.
    """
    shifted = multiply_add(builder, a, constant(FLOATS, 1 / math.log(2)), constant(FLOATS, 1.5 * 2**23))
    n = builder.fsub(shifted, constant(FLOATS, 1.5 * 2**23))
    # ln 2 in two parts: n times the first is exact.
    r = multiply_add(builder, n, constant(FLOATS, -0.693359375), a)
    r = multiply_add(builder, n, constant(FLOATS, 2.12194440e-4), r)
    slope = constant(FLOATS, 1 / math.factorial(7))
    for degree in range(6, 0, -1):
        slope = multiply_add(builder, slope, r, constant(FLOATS, 1 / math.factorial(degree)))
    exponent = builder.shl(
        builder.add(builder.bitcast(shifted, INTEGERS), constant(INTEGERS, 127)), constant(INTEGERS, 23)
    )
    return builder.bitcast(exponent, FLOATS), r, slope


@operation(vector)
def exponential(builder: ir.IRBuilder, a: ir.Value) -> ir.Value:
    """e^a within 2 units in the last place; 0 below -87, about 2e38 above 88.3, NaN for NaN."""
    lowest, highest = constant(FLOATS, -87.0), constant(FLOATS, 88.3)
    underflow = builder.fcmp_ordered("<", a, lowest)
    # Comparisons with NaN are false: it stays.
    a = builder.select(underflow, lowest, a)
    a = builder.select(builder.fcmp_ordered(">", a, highest), highest, a)
    scale, r, slope = _powers(builder, a)
    power = builder.fmul(multiply_add(builder, slope, r, constant(FLOATS, 1.0)), scale)
    return builder.select(underflow, constant(FLOATS, 0.0), power)


@operation(vector)
def hyperbolic_tangent(builder: ir.IRBuilder, a: ir.Value) -> ir.Value:
    """tanh(a) within 3 units in the last place, NaN for NaN.

    tanh |a| = -m / (2 + m) with m = e^y - 1 = 2^n (e^r - 1) + (2^n - 1) and y = -2 |a|: nothing cancels
    where m is small, as n is zero there.
    """
    lowest = constant(FLOATS, -40.0)
    y = builder.fmul(call(builder, "llvm.fabs.v16f32", FLOATS, a), constant(FLOATS, -2.0))
    y = builder.select(builder.fcmp_ordered("<", y, lowest), lowest, y)
    scale, r, slope = _powers(builder, y)
    rest = builder.fadd(scale, constant(FLOATS, -1.0))
    m = multiply_add(builder, scale, builder.fmul(slope, r), rest)
    size = builder.fdiv(builder.fneg(m), builder.fadd(m, constant(FLOATS, 2.0)))
    return call(builder, "llvm.copysign.v16f32", FLOATS, size, a)


def larger_of(builder: ir.IRBuilder, a: ir.Value, b: ir.Value) -> ir.Value:
    """The larger of a and b in one instruction; b where either is NaN."""
    return builder.select(builder.fcmp_ordered(">", a, b), a, b)


def largest_lane_of(builder: ir.IRBuilder, a: ir.Value) -> ir.Value:
    """The largest lane, in every lane; any of them if there is a NaN."""
    return splat(builder, _fold(builder, a, lambda b, c: larger_of(builder, b, c)), LANES)


def any_lane_of(builder: ir.IRBuilder, lanes: ir.Value) -> ir.Value:
    """True if one of sixteen truth values is true."""
    bits = builder.bitcast(lanes, ir.IntType(LANES))
    return builder.icmp_unsigned("!=", bits, ir.Constant(bits.type, 0))


def power_of_two_of(builder: ir.IRBuilder, a: ir.Value) -> ir.Value:
    """2^a for a <= 0, within 2 units in the last place; 0 below -126, NaN for NaN.

    2^a = 2^n * 2^r with n = round(a) and |r| <= 1/2; 2^r is its Taylor polynomial of degree 7.
    """
    # The sum with `magic` has n + 127, the exponent of 2^n, in its low bits.
    lowest, magic = constant(FLOATS, -126.0), constant(FLOATS, 1.5 * 2**23 + 127)
    underflow = builder.fcmp_ordered("<", a, lowest)
    x = builder.select(underflow, lowest, a)
    shifted = builder.fadd(x, magic)
    r = builder.fsub(x, builder.fsub(shifted, magic))
    power = constant(FLOATS, math.log(2) ** 7 / math.factorial(7))
    for degree in range(6, -1, -1):
        coefficient = math.log(2) ** degree / math.factorial(degree)
        power = multiply_add(builder, power, r, constant(FLOATS, coefficient))
    exponent = builder.shl(builder.bitcast(shifted, INTEGERS), constant(INTEGERS, 23))
    scaled = builder.fmul(power, builder.bitcast(exponent, FLOATS))
    return builder.select(underflow, constant(FLOATS, 0.0), scaled)

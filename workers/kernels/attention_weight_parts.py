"""Weights of attention as integers: what one row gives to the values of a chunk, in steps of one size.

A weight is an integer below 2^14, in two parts of seven bits. In scratch memory these are (2, CHUNK) bytes, the upper
parts first, and the step after them.
"""

from __future__ import annotations

from llvmlite import ir

from cactus_actors.workers.kernels.attention_tiles import CHUNK
from cactus_actors.workers.kernels.simd import (
    F32,
    FLOATS,
    I8,
    I32,
    INTEGERS,
    LANES,
    call,
    constant,
    index,
    nearest_integers,
    splat,
)

PARTS = 2
PART_BITS = 7
LARGEST_WEIGHT = 2 ** (PARTS * PART_BITS) - 1
PARTS_FLOATS = PARTS * CHUNK // 4
"""Floats of scratch memory before the step."""


def store_parts(builder: ir.IRBuilder, weights: list[ir.Value], target: ir.Value) -> None:
    """Write the weights of a chunk, at least 0 or NaN, in steps of their largest / LARGEST_WEIGHT.

    A NaN makes the step NaN.
    """
    # The bits of floats without signs are ordered as they are, and NaN is the largest.
    bits = [builder.and_(builder.bitcast(each, INTEGERS), constant(INTEGERS, 2**31 - 1)) for each in weights]
    largest = _larger(builder, *(_larger(builder, *bits[number : number + 2]) for number in (0, 2)))
    largest = builder.bitcast(call(builder, "llvm.vector.reduce.smax.v16i32", I32, largest), F32)
    inverse = splat(builder, builder.fdiv(F32(float(LARGEST_WEIGHT)), largest), LANES)
    step = builder.fmul(largest, F32(1 / LARGEST_WEIGHT))
    mask = constant(INTEGERS, 2**PART_BITS - 1)
    small = ir.VectorType(I8, LANES)
    for number, weight in enumerate(weights):
        steps = nearest_integers(builder, builder.fmul(weight, inverse))
        # Products of larger parts would not be the same by all instructions: those of NaN have seven bits, too.
        for part in range(PARTS):
            lanes = builder.lshr(steps, constant(INTEGERS, PART_BITS * (PARTS - 1 - part)))
            lanes = builder.trunc(builder.and_(lanes, mask), small)
            at = builder.gep(target, [index((part * CHUNK + number * LANES) // 4)])
            builder.store(lanes, builder.bitcast(at, small.as_pointer()), align=4)
    builder.store(step, builder.gep(target, [index(PARTS_FLOATS)]), align=4)


def store_no_parts(builder: ir.IRBuilder, target: ir.Value) -> None:
    """Write the weights of a chunk that a row does not attend to: its sums keep their bits, and their sign if zero."""
    for start in range(0, PARTS_FLOATS, LANES):
        at = builder.bitcast(builder.gep(target, [index(start)]), FLOATS.as_pointer())
        builder.store(constant(FLOATS, 0.0), at, align=4)
    builder.store(F32(-0.0), builder.gep(target, [index(PARTS_FLOATS)]), align=4)


def _larger(builder: ir.IRBuilder, a: ir.Value, b: ir.Value) -> ir.Value:
    return builder.select(builder.icmp_signed(">", a, b), a, b)

"""Products and look-ups of int8 for ARM's NEON.

`sdot` multiplies four inputs by those of four outputs, `smmla` eight inputs of two rows by those of two outputs; both
take signed bytes. Source: Arm Architecture Reference Manual for A-profile architecture, DDI 0487.
"""

from __future__ import annotations

from llvmlite import ir

from cactus_actors.workers.kernels.simd import I8, I32, call, splat
from cactus_actors.workers.kernels.vector_parts import by_parts

BYTES, SUMS = ir.VectorType(I8, 16), ir.VectorType(I32, 4)
"""A register."""


def dot(builder: ir.IRBuilder, sums: ir.Value, inputs: ir.Value, weights: ir.Value) -> ir.Value:
    """`Dot` by `sdot`."""
    repeated = builder.bitcast(splat(builder, inputs, SUMS.count), BYTES)

    def multiply(total: ir.Value, part: ir.Value) -> ir.Value:
        return call(builder, "llvm.aarch64.neon.sdot.v4i32.v16i8", SUMS, total, part, repeated)

    return by_parts(builder, 4, multiply, sums, weights)


def pair_dot(builder: ir.IRBuilder, sums: ir.Value, inputs: ir.Value, weights: ir.Value) -> ir.Value:
    """`PairDot` by `smmla`."""

    def multiply(total: ir.Value, part: ir.Value) -> ir.Value:
        return call(builder, "llvm.aarch64.neon.smmla.v4i32.v16i8", SUMS, total, inputs, part)

    return by_parts(builder, 8, multiply, sums, weights)


def look_up(builder: ir.IRBuilder, table: ir.Constant, indices: ir.Value) -> ir.Value:
    """`LookUp` by `tbl`."""
    return by_parts(builder, 4, lambda part: call(builder, "llvm.aarch64.neon.tbl1.v16i8", BYTES, table, part), indices)

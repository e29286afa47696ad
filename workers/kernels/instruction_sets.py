"""The table of instruction sets that kernels are written for, best first."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from llvmlite import ir
from numba import config
from numba.core.codegen import get_host_cpu_features

from cactus_actors.protocol.errors import ConfigurationInvalid
from cactus_actors.workers.kernels import neon
from cactus_actors.workers.kernels.amx_permission import ask_for_amx
from cactus_actors.workers.kernels.arm_features import tell_numba
from cactus_actors.workers.kernels.simd import I8, I32, call, constant, splat
from cactus_actors.workers.kernels.vector_parts import by_parts

ENVIRONMENT_VARIABLE = "CACTUS_KERNELS"

Dot = Callable[[ir.IRBuilder, ir.Value, ir.Value, ir.Value], ir.Value]
"""(builder, sums <16 x i32>, four int8 in one i32, sixteen times four weights <64 x i8>) -> the new sums."""

SignedDot = Callable[[ir.IRBuilder, ir.Value, ir.Value, ir.Value], ir.Value]
"""(builder, sums <16 x i32>, four of 0 to 127 in one i32, sixteen times four int8 <64 x i8>) -> the new sums."""

PairDot = Callable[[ir.IRBuilder, ir.Value, ir.Value, ir.Value], ir.Value]
"""(builder, sums <32 x i32>, eight int8 of two rows <16 x i8>, sixteen times eight weights <128 x i8>) -> the new sums.

The sums of two outputs are four neighbours: both of the first row, both of the second.
"""

LookUp = Callable[[ir.IRBuilder, ir.Constant, ir.Value], ir.Value]
"""(builder, table <16 x i8>, indices below 16 <64 x i8>) -> the table's values."""


@dataclass(frozen=True)
class InstructionSet:
    """One row of the table; sums of integers are exact, so all rows give the same bits."""

    name: str
    any_features: tuple[frozenset[str], ...]  # required CPU features, in LLVM's names: one of these sets
    dot: Dot
    signed_dot: SignedDot
    look_up: LookUp
    zero_point: int = 128  # added to weights: 128 if dots take them unsigned, 0 if signed
    pair_dot: PairDot | None = None  # only of signed weights
    max_height: int = 4  # rows of the highest tile, a power of two from 4 on
    max_width: int = 1  # blocks of the widest tile
    amx_rows: int = 0  # rows that AMX multiplies together; 0 without it
    unroll: int = 2  # dots of one row that a tile writes out one after the other, a power of two from 2 on


def _dot_512(builder: ir.IRBuilder, sums: ir.Value, inputs: ir.Value, weights: ir.Value) -> ir.Value:
    repeated = builder.bitcast(splat(builder, inputs, 16), weights.type)
    return call(builder, "llvm.x86.avx512.vpdpbusd.512", sums.type, sums, weights, repeated)


def _signed_dot_512(builder: ir.IRBuilder, sums: ir.Value, inputs: ir.Value, weights: ir.Value) -> ir.Value:
    repeated = builder.bitcast(splat(builder, inputs, 16), weights.type)
    return call(builder, "llvm.x86.avx512.vpdpbusd.512", sums.type, sums, repeated, weights)


def _dot_256(builder: ir.IRBuilder, sums: ir.Value, inputs: ir.Value, weights: ir.Value) -> ir.Value:
    repeated = builder.bitcast(splat(builder, inputs, 8), ir.VectorType(I8, 32))

    def multiply(total: ir.Value, half: ir.Value) -> ir.Value:
        return call(builder, "llvm.x86.avx512.vpdpbusd.256", total.type, total, half, repeated)

    return by_parts(builder, 2, multiply, sums, weights)


def _signed_dot_256(builder: ir.IRBuilder, sums: ir.Value, inputs: ir.Value, weights: ir.Value) -> ir.Value:
    repeated = builder.bitcast(splat(builder, inputs, 8), ir.VectorType(I8, 32))

    def multiply(total: ir.Value, half: ir.Value) -> ir.Value:
        return call(builder, "llvm.x86.avx512.vpdpbusd.256", total.type, total, repeated, half)

    return by_parts(builder, 2, multiply, sums, weights)


def _dot_avx2(builder: ir.IRBuilder, sums: ir.Value, inputs: ir.Value, weights: ir.Value) -> ir.Value:
    # vpmaddubsw takes one factor unsigned, and saturates: with the sign of the weight at the input instead, two
    # products are at most 2 * 127 * 127 < 2^15.
    half_type, pairs_type = ir.VectorType(I8, 32), ir.VectorType(ir.IntType(16), 16)
    repeated = builder.bitcast(splat(builder, inputs, 8), half_type)

    def multiply(total: ir.Value, half: ir.Value) -> ir.Value:
        magnitudes = call(builder, "llvm.abs.v32i8", half_type, half, ir.Constant(ir.IntType(1), 0))
        factors = call(builder, "llvm.x86.avx2.psign.b", half_type, repeated, half)
        pairs = call(builder, "llvm.x86.avx2.pmadd.ub.sw", pairs_type, magnitudes, factors)
        fours = call(builder, "llvm.x86.avx2.pmadd.wd", total.type, pairs, constant(pairs_type, 1))
        return builder.add(total, fours)

    return by_parts(builder, 2, multiply, sums, weights)


def _signed_dot_avx2(builder: ir.IRBuilder, sums: ir.Value, inputs: ir.Value, weights: ir.Value) -> ir.Value:
    half_type, pairs_type = ir.VectorType(I8, 32), ir.VectorType(ir.IntType(16), 16)
    repeated = builder.bitcast(splat(builder, inputs, 8), half_type)

    def multiply(total: ir.Value, half: ir.Value) -> ir.Value:
        # Two products are at most 2 * 127 * 128 < 2^15.
        pairs = call(builder, "llvm.x86.avx2.pmadd.ub.sw", pairs_type, repeated, half)
        fours = call(builder, "llvm.x86.avx2.pmadd.wd", total.type, pairs, constant(pairs_type, 1))
        return builder.add(total, fours)

    return by_parts(builder, 2, multiply, sums, weights)


def _dot_portable(builder: ir.IRBuilder, sums: ir.Value, inputs: ir.Value, weights: ir.Value) -> ir.Value:
    lanes = builder.bitcast(weights, sums.type)
    for byte in range(4):
        unsigned = builder.and_(builder.lshr(lanes, constant(sums.type, 8 * byte)), constant(sums.type, 255))
        signed = builder.ashr(builder.shl(inputs, ir.Constant(I32, 24 - 8 * byte)), ir.Constant(I32, 24))
        sums = builder.add(sums, builder.mul(unsigned, splat(builder, signed, 16)))
    return sums


def _signed_dot_portable(builder: ir.IRBuilder, sums: ir.Value, inputs: ir.Value, weights: ir.Value) -> ir.Value:
    lanes = builder.bitcast(weights, sums.type)
    for byte in range(4):
        signed = builder.ashr(builder.shl(lanes, constant(sums.type, 24 - 8 * byte)), constant(sums.type, 24))
        unsigned = builder.and_(builder.lshr(inputs, ir.Constant(I32, 8 * byte)), ir.Constant(I32, 255))
        sums = builder.add(sums, builder.mul(signed, splat(builder, unsigned, 16)))
    return sums


def _look_up_512(builder: ir.IRBuilder, table: ir.Constant, indices: ir.Value) -> ir.Value:
    repeated = _repeat(builder, table, 4)
    return call(builder, "llvm.x86.avx512.pshuf.b.512", indices.type, repeated, indices)


def _look_up_256(builder: ir.IRBuilder, table: ir.Constant, indices: ir.Value) -> ir.Value:
    repeated = _repeat(builder, table, 2)
    return by_parts(builder, 2, lambda half: call(builder, "llvm.x86.avx2.pshuf.b", half.type, repeated, half), indices)


def _look_up_portable(builder: ir.IRBuilder, table: ir.Constant, indices: ir.Value) -> ir.Value:
    # Each bit of the indices halves the rest of the table.
    left: list[ir.Value] = [constant(indices.type, value.constant) for value in table.constant]
    for bit in range(4):
        is_set = builder.icmp_unsigned(
            "!=", builder.and_(indices, constant(indices.type, 1 << bit)), constant(indices.type, 0)
        )
        left = [builder.select(is_set, left[k + 1], left[k]) for k in range(0, len(left), 2)]
    return left[0]


def _repeat(builder: ir.IRBuilder, table: ir.Constant, times: int) -> ir.Value:
    mask = ir.Constant(ir.VectorType(I32, 16 * times), list(range(16)) * times)
    return builder.shuffle_vector(table, table, mask)


AVX512_VNNI = InstructionSet(
    name="avx512-vnni",
    any_features=(frozenset({"avx512f", "avx512bw", "avx512vnni"}),),
    dot=_dot_512,
    signed_dot=_signed_dot_512,
    look_up=_look_up_512,
    max_height=8,
    max_width=2,
    unroll=8,
)
AMX = replace(
    AVX512_VNNI,
    name="amx-int8",
    any_features=(frozenset({"avx512f", "avx512bw", "avx512vnni", "amx-tile", "amx-int8"}),),
    amx_rows=16,
)
AVX_VNNI = InstructionSet(
    name="avx-vnni",
    any_features=(frozenset({"avx2", "avxvnni"}), frozenset({"avx512vl", "avx512vnni"})),
    dot=_dot_256,
    signed_dot=_signed_dot_256,
    look_up=_look_up_256,
    unroll=4,
)
AVX2 = InstructionSet(
    name="avx2",
    any_features=(frozenset({"avx2"}),),
    dot=_dot_avx2,
    signed_dot=_signed_dot_avx2,
    look_up=_look_up_256,
    zero_point=0,
)
NEON_I8MM = InstructionSet(
    name="neon-i8mm",
    any_features=(frozenset({"dotprod", "i8mm"}),),
    dot=neon.dot,
    signed_dot=neon.dot,
    look_up=neon.look_up,
    zero_point=0,
    pair_dot=neon.pair_dot,
)
NEON_DOTPROD = replace(NEON_I8MM, name="neon-dotprod", any_features=(frozenset({"dotprod"}),), pair_dot=None)
PORTABLE = InstructionSet(
    name="portable",
    any_features=(frozenset(),),
    dot=_dot_portable,
    signed_dot=_signed_dot_portable,
    look_up=_look_up_portable,
)
TABLE = (AMX, AVX512_VNNI, AVX_VNNI, AVX2, NEON_I8MM, NEON_DOTPROD, PORTABLE)

tell_numba()


def cpu_features() -> frozenset[str]:
    """Features of this CPU, by LLVM's names."""
    features = config.CPU_FEATURES if config.CPU_FEATURES is not None else get_host_cpu_features()
    return frozenset(feature[1:] for feature in features.split(",") if feature.startswith("+"))


def usable_instruction_sets() -> tuple[InstructionSet, ...]:
    """Instruction sets that this process can run on this CPU, best first."""
    present = cpu_features()
    of_cpu = (row for row in TABLE if any(needed <= present for needed in row.any_features))
    return tuple(row for row in of_cpu if not row.amx_rows or ask_for_amx())


def choose_instruction_set(environment: Mapping[str, str] = os.environ) -> InstructionSet:
    """The best instruction set of this CPU, or the one that CACTUS_KERNELS names.

    Raises ConfigurationInvalid for a name that is unknown or that this CPU cannot run.
    """
    usable = {choice.name: choice for choice in usable_instruction_sets()}
    forced = environment.get(ENVIRONMENT_VARIABLE)
    if not forced:
        return next(iter(usable.values()))
    if forced not in usable:
        raise ConfigurationInvalid(
            f"{ENVIRONMENT_VARIABLE}={forced!r}: this CPU can use {', '.join(usable)}",
            param=ENVIRONMENT_VARIABLE,
        )
    return usable[forced]

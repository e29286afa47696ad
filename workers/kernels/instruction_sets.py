"""The table of instruction sets that kernels are written for, best first."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from llvmlite import ir
from numba import config
from numba.core.codegen import get_host_cpu_features

from cactus_actors.protocol.errors import ConfigurationInvalid
from workers.kernels.vectors import I8, I32, call, constant, splat

ENVIRONMENT_VARIABLE = "CACTUS_KERNELS"

Dot = Callable[[ir.IRBuilder, ir.Value, ir.Value, ir.Value], ir.Value]
"""(builder, sums <16 x i32>, four int8 in one i32, sixteen times four uint8 <64 x i8>) -> the new sums."""


@dataclass(frozen=True)
class InstructionSet:
    """One row of the table; integers are exact, so all rows give the same bits."""

    name: str
    features: tuple[frozenset[str], ...]  # LLVM's names of what the CPU must have: all of any of these
    dot: Dot
    max_height: int  # rows of the highest tile, a power of two from 4 on
    max_width: int  # blocks of the widest tile
    unroll: int  # dots of one row that a tile writes out one after the other


def _dot_avx512_vnni(builder: ir.IRBuilder, sums: ir.Value, inputs: ir.Value, weights: ir.Value) -> ir.Value:
    repeated = builder.bitcast(splat(builder, inputs, 16), ir.VectorType(I8, 64))
    return call(builder, "llvm.x86.avx512.vpdpbusd.512", sums.type, sums, weights, repeated)


def _dot_portable(builder: ir.IRBuilder, sums: ir.Value, inputs: ir.Value, weights: ir.Value) -> ir.Value:
    lanes = builder.bitcast(weights, sums.type)
    for byte in range(4):
        unsigned = builder.lshr(lanes, constant(sums.type, 8 * byte))
        if byte < 3:
            unsigned = builder.and_(unsigned, constant(sums.type, 255))
        signed = builder.ashr(builder.shl(inputs, ir.Constant(I32, 24 - 8 * byte)), ir.Constant(I32, 24))
        sums = builder.add(sums, builder.mul(unsigned, splat(builder, signed, 16)))
    return sums


AVX512_VNNI = InstructionSet(
    "avx512-vnni",
    (frozenset({"avx512f", "avx512bw", "avx512vnni"}),),
    _dot_avx512_vnni,
    max_height=8,
    max_width=2,
    unroll=8,
)
PORTABLE = InstructionSet("portable", (frozenset(),), _dot_portable, max_height=4, max_width=1, unroll=1)
TABLE = (AVX512_VNNI, PORTABLE)


def usable_instruction_sets() -> tuple[InstructionSet, ...]:
    """What this CPU can run, best first."""
    features = config.CPU_FEATURES if config.CPU_FEATURES is not None else get_host_cpu_features()
    present = {feature[1:] for feature in features.split(",") if feature.startswith("+")}
    return tuple(row for row in TABLE if any(needed <= present for needed in row.features))


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

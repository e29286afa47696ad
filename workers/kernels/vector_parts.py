"""Vectors in LLVM IR cut into equal parts, and put together again."""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from cactus_actors.workers.kernels.simd import I32


def parts_of(builder: ir.IRBuilder, whole: ir.Value, num_parts: int) -> list[ir.Value]:
    """A vector as `num_parts` vectors, first lanes first."""
    count = whole.type.count // num_parts
    return [select(builder, whole, whole, range(part * count, (part + 1) * count)) for part in range(num_parts)]


def joined(builder: ir.IRBuilder, parts: list[ir.Value]) -> ir.Value:
    """A power of two of equal vectors as one."""
    while len(parts) > 1:
        lanes = range(2 * parts[0].type.count)
        parts = [select(builder, low, high, lanes) for low, high in zip(parts[::2], parts[1::2], strict=True)]
    return parts[0]


def select(builder: ir.IRBuilder, first: ir.Value, second: ir.Value, lanes: range | list[int]) -> ir.Value:
    """The lanes of these numbers; those of `second` are counted on from those of `first`."""
    return builder.shuffle_vector(first, second, ir.Constant(ir.VectorType(I32, len(lanes)), list(lanes)))


def by_parts(builder: ir.IRBuilder, num_parts: int, compute: Callable[..., ir.Value], *operands: ir.Value) -> ir.Value:
    """`compute(*parts)` of each part of the operands, joined."""
    cut = [parts_of(builder, operand, num_parts) for operand in operands]
    return joined(builder, [compute(*parts) for parts in zip(*cut, strict=True)])

"""Loops and their variables in LLVM IR."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from llvmlite import ir
from numba.core import cgutils

from cactus_actors.workers.kernels.simd import INDEX, index


def counted(builder: ir.IRBuilder, start: ir.Value, stop: ir.Value, step: int = 1) -> Any:
    """A loop over start, start + step, ... below `stop`, as a context that yields the counter."""
    return cgutils.for_range_slice(builder, start, stop, index(step), intp=INDEX)


def variables(builder: ir.IRBuilder, initial: Iterable[ir.Value]) -> list[ir.Value]:
    """Variables of a loop with these initial values; LLVM keeps them in registers."""
    return [cgutils.alloca_once_value(builder, value) for value in initial]

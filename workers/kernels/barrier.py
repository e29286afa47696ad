"""How the threads of one step meet: a spin barrier between two phases, and counters that deal out tasks."""

# ruff: noqa: ARG001 - numba matches arguments by the names of all parameters, used or not

from __future__ import annotations

import os
import platform
from typing import Any

from llvmlite import ir
from numba import njit, types
from numpy.typing import NDArray

from workers.kernels.memory import aligned_zeros
from workers.kernels.vectors import I32, address, call, primitive

ARRIVED, GENERATION = 0, 8  # on cache lines of their own
PATIENCE = 200
"""Turns of spinning before a waiting thread starts to yield the core to whoever keeps its partner from it."""


def new_barrier() -> NDArray[Any]:
    """The shared state of a barrier."""
    return aligned_zeros((16,), "int64")


@primitive
def _fetch_add(typing: Any, array: Any, index: Any, value: Any) -> Any:
    def generate(context: Any, builder: ir.IRBuilder, _sig: Any, given: Any) -> ir.Value:
        target = address(context, builder, array, given[0], given[1], ir.IntType(64))
        return builder.atomic_rmw("add", target, given[2], "acq_rel")

    return types.int64(array, types.intp, types.int64), generate


@primitive
def _load(typing: Any, array: Any, index: Any) -> Any:
    def generate(context: Any, builder: ir.IRBuilder, _sig: Any, given: Any) -> ir.Value:
        target = address(context, builder, array, given[0], given[1], ir.IntType(64))
        return builder.load_atomic(target, "acquire", 8)

    return types.int64(array, types.intp), generate


@primitive
def _relax(typing: Any) -> Any:
    """Tell the core that this is a spin loop."""

    def generate(context: Any, builder: ir.IRBuilder, _sig: Any, given: Any) -> ir.Value:
        machine = platform.machine().lower()
        if machine in ("x86_64", "amd64"):
            call(builder, "llvm.x86.sse2.pause", ir.VoidType())
        elif machine in ("arm64", "aarch64"):
            call(builder, "llvm.aarch64.hint", ir.VoidType(), ir.Constant(I32, 1))
        return context.get_dummy_value()

    return types.void(), generate


@primitive
def _yield_core(typing: Any) -> Any:
    def generate(context: Any, builder: ir.IRBuilder, _sig: Any, given: Any) -> ir.Value:
        if os.name == "posix":
            call(builder, "sched_yield", I32)
        return context.get_dummy_value()

    return types.void(), generate


@primitive
def cycles(typing: Any) -> Any:
    """The core's time stamp counter, for profiles."""

    def generate(context: Any, builder: ir.IRBuilder, _sig: Any, given: Any) -> ir.Value:
        return call(builder, "llvm.readcyclecounter", ir.IntType(64))

    return types.int64(), generate


@njit(error_model="numpy")
def wait(barrier: Any, size: int) -> None:
    """Return once all `size` threads have called; what they wrote before is visible to all."""
    if size == 1:
        return
    generation = _load(barrier, GENERATION)
    if _fetch_add(barrier, ARRIVED, 1) == size - 1:
        _fetch_add(barrier, ARRIVED, -size)
        _fetch_add(barrier, GENERATION, 1)
        return
    turns = 0
    while _load(barrier, GENERATION) == generation:
        turns += 1
        if turns > PATIENCE:
            _yield_core()
        else:
            _relax()


@njit(error_model="numpy")
def next_task(taken: Any, index: int) -> Any:
    """The next number, from 0 on, of the counter `index`: each caller gets another one."""
    return _fetch_add(taken, index, 1)

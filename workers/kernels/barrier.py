"""Synchronisation of the threads of a step: signals, spin barriers, counters of tasks."""

# ruff: noqa: ARG001 - numba matches arguments by the names of all parameters, used or not

from __future__ import annotations

import os
import platform
import sys
from typing import Any

from llvmlite import ir
from numba import types
from numpy.typing import NDArray

from cactus_actors.workers.kernels.aligned_memory import CACHE_LINE, aligned_zeros
from cactus_actors.workers.kernels.compile_cache import cached_njit
from cactus_actors.workers.kernels.internal import internal
from cactus_actors.workers.kernels.simd import I32, address, call, fetch, primitive

ARRIVED, GENERATION, SLEEPING, LEAVING = 0, 8, 16, 17  # the first two on separate cache lines
IS_LINUX = sys.platform == "linux" and platform.machine() in ("x86_64", "aarch64")
FUTEX_WAIT, FUTEX_WAKE = 128, 129  # within one process
SPIN_CYCLES = 1_500_000
"""About half a millisecond: longer than a busy engine takes between two steps."""

GRACE = 32
"""Spins, of about a microsecond together, in which a thread may come late without losing its share to another one."""

PATIENCE = 200
"""Spins before a waiting thread starts to yield its core, which its partner may need."""


def new_barrier() -> NDArray[Any]:
    """The shared state of a barrier, or of a signal."""
    return aligned_zeros((24,), "int64")


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
def _sleep_while(typing: Any, array: Any, index: Any, value: Any) -> Any:
    """Sleep until woken if the element has this value (futex(2)); a short sleep on other systems."""

    def generate(context: Any, builder: ir.IRBuilder, _sig: Any, given: Any) -> ir.Value:
        array_value, index, value = given
        if IS_LINUX:
            word = address(context, builder, array, array_value, index, I32)
            _futex(builder, word, FUTEX_WAIT, builder.trunc(value, I32))
        else:
            call(builder, "usleep", I32, I32(50))
        return context.get_dummy_value()

    return types.void(array, types.intp, types.int64), generate


@primitive
def _wake_all(typing: Any, array: Any, index: Any) -> Any:
    """Wake all threads that sleep on the element."""

    def generate(context: Any, builder: ir.IRBuilder, _sig: Any, given: Any) -> ir.Value:
        if IS_LINUX:
            word = address(context, builder, array, given[0], given[1], I32)
            _futex(builder, word, FUTEX_WAKE, I32(2**31 - 1))
        return context.get_dummy_value()

    return types.void(array, types.intp), generate


def _futex(builder: ir.IRBuilder, word: ir.Value, operation: int, value: ir.Value) -> None:
    # On x86 and ARM alike; libc has no function of its own for it.
    wide = ir.IntType(64)
    number = 202 if platform.machine() == "x86_64" else 98
    operands = [wide(number), word, wide(operation), builder.zext(value, wide), wide(0)]
    kind = ir.FunctionType(wide, [wide], var_arg=True)
    function = builder.module.globals.get("syscall") or ir.Function(builder.module, kind, "syscall")
    builder.call(function, operands)


@primitive
def cycles(typing: Any) -> Any:
    """The core's time stamp counter, for profiles."""

    def generate(context: Any, builder: ir.IRBuilder, _sig: Any, given: Any) -> ir.Value:
        return call(builder, "llvm.readcyclecounter", ir.IntType(64))

    return types.int64(), generate


@internal(error_model="numpy")
def wait(barrier: Any, size: int) -> None:
    """Return when all `size` threads have called; their earlier writes are visible to all."""
    if size == 1:
        return
    generation = _load(barrier, GENERATION)
    if _fetch_add(barrier, ARRIVED, 1) == size - 1:
        _fetch_add(barrier, ARRIVED, -size)
        _fetch_add(barrier, GENERATION, 1)
        return
    turns = 0
    while _load(barrier, GENERATION) == generation:
        turns = _rest(turns)


@internal(error_model="numpy")
def wait_for(counters: Any, index: int, count: int, data: Any, fetch_from: int, fetch_to: int) -> Any:
    """Return when a counter has reached `count`; what was written before its tasks were counted is visible.

    A waiting thread prefetches bytes of `data` (uint8) in that range; returns the end of the fetched range.
    """
    turns = 0
    while _load(counters, index) < count:
        if fetch_from < fetch_to:
            fetch(data, fetch_from)
            fetch_from += CACHE_LINE
        else:
            turns = _rest(turns)
    return fetch_from


@internal(error_model="numpy", inline="always")
def _rest(turns: int) -> Any:
    """Let a waiting thread spin, and after a while yield its core; returns the number of turns so far."""
    if turns < PATIENCE:
        _relax()
    else:
        _yield_core()
    return turns + 1


@internal(error_model="numpy")
def notify(signal: Any) -> None:
    """Release all threads in `follow`, once each."""
    _fetch_add(signal, GENERATION, 1)
    if _fetch_add(signal, SLEEPING, 0):
        _wake_all(signal, GENERATION)


@internal(error_model="numpy")
def follow(signal: Any, seen: int) -> Any:
    """Wait for a `notify` after number `seen` (0 at first); returns its number, or -1 to `leave`.

    Spins for a while, because the next step of a busy engine comes soon, then sleeps.
    """
    started = cycles()
    turns = 0
    while _load(signal, GENERATION) == seen:
        turns += 1
        if turns < PATIENCE:
            _relax()
        elif cycles() - started < SPIN_CYCLES:
            _yield_core()
        else:
            _fetch_add(signal, SLEEPING, 1)
            _sleep_while(signal, GENERATION, seen)
            _fetch_add(signal, SLEEPING, -1)
    return -1 if _load(signal, LEAVING) else _load(signal, GENERATION)


@cached_njit(error_model="numpy")
def dismiss(signal: Any) -> None:
    """Make all threads in `follow` leave."""
    _fetch_add(signal, LEAVING, 1)
    notify(signal)


@cached_njit(error_model="numpy")
def gather(signal: Any) -> Any:
    """Make the next `follow` wait again, after all threads have left; returns the number that it has seen."""
    _fetch_add(signal, LEAVING, -_load(signal, LEAVING))
    return _load(signal, GENERATION)


@internal(error_model="numpy")
def next_task(taken: Any, index: int) -> Any:
    """The next number, from 0 on, of the counter `index`: each caller gets another one."""
    return _fetch_add(taken, index, 1)


@internal(error_model="numpy")
def claims_left_share(taken: Any, index: int) -> Any:
    """Claim a share that its owner has not claimed for a while; False if it has, or another thread has."""
    for _ in range(GRACE):
        if _load(taken, index):
            return False
        _relax()
    return _fetch_add(taken, index, 1) == 0

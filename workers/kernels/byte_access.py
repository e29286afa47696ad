# ruff: noqa: ARG001 - numba matches arguments by the names of all parameters, used or not
"""Single numbers at byte offsets, multiples of 2, of an array of bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types

from cactus_actors.workers.kernels.simd import F32, I32, address, primitive

I16 = ir.IntType(16)


def _make_load(numba_type: Any, llvm_type: ir.Type, widen: Callable[[ir.IRBuilder, ir.Value], ir.Value]) -> Any:
    @primitive
    def load_number(typing: Any, array: Any, offset: Any) -> Any:
        """The number at a byte offset."""

        def generate(context: Any, builder: ir.IRBuilder, _sig: Any, values: Any) -> ir.Value:
            start = address(context, builder, array, values[0], values[1], llvm_type)
            return widen(builder, builder.load(start, align=2))

        return numba_type(array, types.intp), generate

    return load_number


def _make_store(numba_type: Any) -> Any:
    @primitive
    def store_number(typing: Any, array: Any, offset: Any, value: Any) -> Any:
        """Write a number at a byte offset."""

        def generate(context: Any, builder: ir.IRBuilder, _sig: Any, values: Any) -> ir.Value:
            start = address(context, builder, array, values[0], values[1], values[2].type)
            builder.store(values[2], start, align=2)
            return context.get_dummy_value()

        return types.void(array, types.intp, numba_type), generate

    return store_number


def _bfloat_to_float(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    return builder.bitcast(builder.shl(builder.zext(value, I32), I32(16)), F32)


load_float = _make_load(types.float32, F32, lambda _, value: value)
load_bfloat = _make_load(types.float32, I16, _bfloat_to_float)
store_float = _make_store(types.float32)

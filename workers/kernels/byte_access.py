# ruff: noqa: ARG001 - numba matches arguments by the names of all parameters, used or not
"""Single numbers at byte offsets, multiples of 2, of an array of bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types

from cactus_actors.workers.kernels.simd import F32, I32, address, primitive

I16 = ir.IntType(16)


def _make_load(llvm_type: ir.Type, widen: Callable[[ir.IRBuilder, ir.Value], ir.Value]) -> Any:
    @primitive
    def load_number(typing: Any, array: Any, offset: Any) -> Any:
        """The number at a byte offset."""

        def generate(context: Any, builder: ir.IRBuilder, _sig: Any, values: Any) -> ir.Value:
            start = address(context, builder, array, values[0], values[1], llvm_type)
            return widen(builder, builder.load(start, align=2))

        return types.float32(array, types.intp), generate

    return load_number


@primitive
def store_float(typing: Any, array: Any, offset: Any, value: Any) -> Any:
    """Write a float at a byte offset."""

    def generate(context: Any, builder: ir.IRBuilder, _sig: Any, values: Any) -> ir.Value:
        start = address(context, builder, array, values[0], values[1], values[2].type)
        builder.store(values[2], start, align=2)
        return context.get_dummy_value()

    return types.void(array, types.intp, types.float32), generate


def _bfloat_to_float(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    return builder.bitcast(builder.shl(builder.zext(value, I32), I32(16)), F32)


load_float = _make_load(F32, lambda _, value: value)
load_bfloat = _make_load(I16, _bfloat_to_float)

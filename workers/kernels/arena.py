# ruff: noqa: ARG001 - numba matches arguments by the names of all parameters, used or not
"""Single numbers at byte offsets of an array of bytes; offsets of wider numbers are multiples of 4."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types

from workers.kernels.vectors import F32, I32, address, primitive


def _make_load(numba_type: Any, llvm_type: ir.Type) -> Any:
    @primitive
    def load_number(typing: Any, array: Any, offset: Any) -> Any:
        """The number at a byte offset."""

        def generate(context: Any, builder: ir.IRBuilder, _sig: Any, values: Any) -> ir.Value:
            return builder.load(address(context, builder, array, values[0], values[1], llvm_type), align=4)

        return numba_type(array, types.intp), generate

    return load_number


def _make_store(numba_type: Any, llvm_type: ir.Type) -> Any:
    @primitive
    def store_number(typing: Any, array: Any, offset: Any, value: Any) -> Any:
        """Write a number at a byte offset."""

        def generate(context: Any, builder: ir.IRBuilder, _sig: Any, values: Any) -> ir.Value:
            data, offset, value = values
            builder.store(value, address(context, builder, array, data, offset, llvm_type), align=4)
            return context.get_dummy_value()

        return types.void(array, types.intp, numba_type), generate

    return store_number


load_float, store_float = _make_load(types.float32, F32), _make_store(types.float32, F32)
store_integer = _make_store(types.int32, I32)

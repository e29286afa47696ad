"""Functions that only compiled functions call."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import njit, types
from numba.extending import overload
from numpy.typing import NDArray

from cactus_actors.workers.kernels.compile_cache import kept_njit
from cactus_actors.workers.kernels.internal import INTERNAL, internal
from cactus_actors.workers.kernels.machine_code import MachineCode


@internal(error_model="numpy")
def _twice(value: Any) -> Any:
    return value + value


@internal(error_model="numpy", fastmath={"reassoc"})
def _sum(values: Any) -> Any:
    total = np.float32(0)
    for i in range(values.size):
        total += _twice(values[i])
    return total


def _sign(value: Any) -> Any:
    raise NotImplementedError


@overload(_sign, jit_options=INTERNAL)
def _overload_sign(value: Any) -> Any:
    is_real = isinstance(value, types.Float)

    def implementation(value: Any) -> Any:
        return -1 if value < 0 else int(is_real)

    return implementation


@njit(error_model="numpy")
def _outermost(values: Any) -> Any:
    return _sum(values), _twice(values.size), _sign(values[0])


def test_compiled_functions_can_call_an_internal_kernel() -> None:
    values: NDArray[np.float32] = np.arange(100, dtype=np.float32)
    assert _outermost(values) == (9900.0, 200, 1)
    assert _outermost(-values[1:]) == (-9900.0, 198, -1)


def test_python_cannot_call_an_internal_kernel() -> None:
    for _ in range(2):
        with pytest.raises(TypeError, match=r"_twice can only be called by compiled functions"):
            _twice(1)
        _outermost(np.ones(1, np.float32))


def test_compile_errors_appear_at_the_outermost_compiled_function() -> None:
    @internal()
    def adds_text(value: Any) -> Any:
        return value + "text"

    @njit
    def outermost(value: Any) -> Any:
        return adds_text(value)

    with pytest.raises(Exception, match="No implementation of function"):
        outermost(1)


def test_errors_of_an_internal_kernel_reach_its_callers() -> None:
    @internal()
    def divide(a: Any, b: Any) -> Any:
        return a // b

    @njit
    def outermost(a: Any, b: Any) -> Any:
        return divide(a, b)

    assert outermost(7, 2) == 3
    with pytest.raises(ZeroDivisionError):
        outermost(7, 0)


@kept_njit(error_model="numpy")
def _double(values: Any) -> None:
    for i in range(values.size):
        values[i] += values[i]


def test_machine_code_is_that_of_the_types_of_its_arguments() -> None:
    code = MachineCode(_double)
    wide, narrow = np.array([0.1, 3.0]), np.array([0.1, 3.0], np.float32)
    for values in (wide, narrow):
        code.of(values)(values)
    assert wide.tolist() == [0.2, 6.0]
    assert (narrow == np.array([0.2, 6.0], np.float32)).all()
    assert code.of(wide) is code.of(np.ones(5))
    assert code.of(wide) is not code.of(narrow)

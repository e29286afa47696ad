"""Compiled functions that tests call: those of the product that only compiled code may call, and those of tests."""

from __future__ import annotations

from types import FunctionType
from typing import Any

from cactus_actors.workers.kernels.compile_cache import kept_njit

__all__ = ["for_python", "kept_njit"]


def for_python(internal: Any) -> Any:
    """The function, compiled with the same options and with a wrapper."""
    options = {name: value for name, value in internal.targetoptions.items() if not name.startswith("no_c")}
    options.pop("nopython", None)
    kernel = internal.py_func
    # A copy: what is kept on disk has another name.
    copy = FunctionType(kernel.__code__, kernel.__globals__, kernel.__name__, kernel.__defaults__, kernel.__closure__)
    copy.__module__ = kernel.__module__
    return kept_njit(**options)(copy)

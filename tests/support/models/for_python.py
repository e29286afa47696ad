"""Compiled functions that tests call: those of the product that only compiled code may call, and those of tests."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

from cactus_actors.workers.kernels.compile_cache import cached_njit, compile_lock


def kept_njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """`njit` for functions that Python calls; their machine code is kept on disk, until a kernel changes."""

    def compiled(function: Callable[..., Any]) -> Any:
        dispatcher = cached_njit(**options)(function)
        compile_or_load = dispatcher._compile_for_args

        def locked(*arguments: Any, **keywords: Any) -> Any:
            with compile_lock(dispatcher):
                return compile_or_load(*arguments, **keywords)

        dispatcher._compile_for_args = locked
        return dispatcher

    return compiled


def for_python(internal: Any) -> Any:
    """The function, compiled with the same options and with a wrapper."""
    options = {name: value for name, value in internal.targetoptions.items() if not name.startswith("no_c")}
    options.pop("nopython", None)
    kernel = internal.py_func
    # A copy: what is kept on disk has another name.
    copy = FunctionType(kernel.__code__, kernel.__globals__, kernel.__name__, kernel.__defaults__, kernel.__closure__)
    copy.__module__ = kernel.__module__
    return kept_njit(**options)(copy)

"""Python wrappers of functions that only compiled code may call."""

from __future__ import annotations

from types import FunctionType
from typing import Any

from cactus_actors.workers.kernels.compile_cache import cached_njit


def for_python(internal: Any) -> Any:
    """The function, compiled with the same options and with a wrapper; its machine code is kept on disk."""
    options = {name: value for name, value in internal.targetoptions.items() if not name.startswith("no_c")}
    options.pop("nopython", None)
    kernel = internal.py_func
    # A copy: what is kept on disk has the hash of the sources in its name.
    function = FunctionType(
        kernel.__code__, kernel.__globals__, kernel.__name__, kernel.__defaults__, kernel.__closure__
    )
    function.__module__ = kernel.__module__
    return cached_njit(**options)(function)

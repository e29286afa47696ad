"""Python wrappers of functions that only compiled code may call."""

from __future__ import annotations

from typing import Any

from numba import njit


def for_python(internal: Any) -> Any:
    """The function, compiled with the same options and with a wrapper."""
    options = {name: value for name, value in internal.targetoptions.items() if not name.startswith("no_c")}
    options.pop("nopython", None)
    return njit(**options)(internal.py_func)

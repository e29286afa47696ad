"""Functions that only compiled ones may call, for tests that call them from Python."""

from __future__ import annotations

from typing import Any

from numba import njit


def for_python(internal: Any) -> Any:
    """The same function, compiled with the same options and with a wrapper."""
    options = {name: value for name, value in internal.targetoptions.items() if not name.startswith("no_c")}
    options.pop("nopython", None)
    return njit(**options)(internal.py_func)

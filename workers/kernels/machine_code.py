"""The machine code of compiled functions, for calls in which numba need not look at types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import _dispatcher

Code = Callable[..., Any]


class MachineCode:
    """The code of a compiled function by the types of its arguments.

    A call of the function itself looks at the types of all arguments, and of all arrays in tuples. That takes a tenth
    of the time that a small step spends outside of compiled code: after a step nothing of it is in the core's caches.
    """

    def __init__(self, function: Any) -> None:
        self._function = function
        self._known: dict[tuple[bytes, ...], Code] = {}

    def of(self, *arguments: Any) -> Code:
        """The code for arguments of the types that these have; with others it would misread memory."""
        kinds = tuple(map(_dispatcher.compute_fingerprint, arguments))  # as numba does in each call
        if kinds not in self._known:
            self._known[kinds] = self._function.compile(tuple(map(self._function.typeof_pyval, arguments)))
        return self._known[kinds]

"""A child process that ends with the process that started it."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1
"""prctl(2): the signal that the kernel sends when the thread that started this process has ended."""


def end_with_parent(parent: int) -> None:
    """Have the kernel kill this process when `parent`, which started it, ends.

    Exits immediately if the parent has ended already. On systems without such a signal nothing happens; a child then
    notices that its connection to the parent is closed.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:  # it ended before the call
            os._exit(os.EX_UNAVAILABLE)

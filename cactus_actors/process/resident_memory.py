"""Memory of this process that is in RAM, and giving back what of it is free."""

from __future__ import annotations

import contextlib
import ctypes
import resource
from pathlib import Path

STATM = Path("/proc/self/statm")


def resident_bytes() -> int:
    """Memory of this process that is in RAM; 0 where the system does not say."""
    try:
        return int(STATM.read_bytes().split()[1]) * resource.getpagesize()
    except OSError:
        return 0


def give_back_memory() -> None:
    """Give the system what was freed here; a C library other than GNU's does so by itself, or never."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)

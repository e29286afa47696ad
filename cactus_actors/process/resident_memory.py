"""The resident memory of this process, and returning freed memory to the system."""

from __future__ import annotations

import contextlib
import ctypes
import resource
from pathlib import Path

LARGE_BLOCK_BYTES = 128 << 10
_M_MMAP_THRESHOLD = -3  # mallopt(3)
STATM = Path("/proc/self/statm")


def resident_bytes() -> int:
    """Resident memory of this process; 0 where the system does not report it."""
    try:
        return int(STATM.read_bytes().split()[1]) * resource.getpagesize()
    except OSError:
        return 0


def resident_mb() -> float:
    """Resident memory in units of 2^20 bytes; the peak where the system does not say the present value."""
    return (resident_bytes() or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) / 2**20


def return_memory() -> None:
    """Return freed memory to the system; C libraries other than GNU's do so by themselves, or never."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def return_large_blocks() -> None:
    """Return each block of LARGE_BLOCK_BYTES or more to the system as soon as it is freed.

    Otherwise GNU's library keeps blocks of up to 32 MiB for itself, between others that are in use, once such a
    block was freed. It is for processes that receive untrusted messages, not for those that compute.
    """
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, LARGE_BLOCK_BYTES)

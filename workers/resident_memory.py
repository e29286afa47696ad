"""How much memory this process holds."""

from __future__ import annotations

import resource
from pathlib import Path


def resident_mb() -> float:
    """Memory of this process that is in RAM now, mapped files included, in units of 2^20 bytes."""
    try:
        num_pages = int(Path("/proc/self/statm").read_text().split()[1])
    except FileNotFoundError:  # not Linux: the most that it ever was
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return num_pages * resource.getpagesize() / 2**20

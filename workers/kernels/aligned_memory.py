"""Arrays for vector code: zeroed, and starting on a cache line so that no vector crosses two."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

CACHE_LINE = 64


def round_up(count: int, multiple: int) -> int:
    """The smallest multiple of `multiple` that is not below `count`."""
    return -(-count // multiple) * multiple


def aligned_zeros(shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """A zeroed C-contiguous array aligned to a cache line."""
    num_bytes = math.prod(shape) * np.dtype(dtype).itemsize
    memory = np.zeros(num_bytes + CACHE_LINE, dtype=np.uint8)
    start = -memory.ctypes.data % CACHE_LINE
    return memory[start : start + num_bytes].view(dtype).reshape(shape)

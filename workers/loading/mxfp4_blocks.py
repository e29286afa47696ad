"""Numbers in MXFP4 as Hugging Face directories keep them (OCP Microscaling Formats 1.0, 2023)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

LEVELS = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
"""The magnitudes of E2M1; the fourth bit is the sign."""

BLOCK_BYTES = 16
BLOCK_SIZE = 2 * BLOCK_BYTES
"""Numbers that share a scale, a power of two (E8M0)."""

_SIGNED = np.array([*LEVELS, *(-level for level in LEVELS)], np.float32)
_PAIRS = np.stack([_SIGNED[np.arange(256) & 15], _SIGNED[np.arange(256) >> 4]], axis=1)  # the lower half first
_BITS_OF_PAIRS = _PAIRS.view(np.uint64)[:, 0]  # both numbers of a byte by one look-up
_POWERS = np.array([*(2.0 ** (exponent - 127) for exponent in range(255)), np.nan], np.float32)


def dequantize(blocks: NDArray[np.uint8], scales: NDArray[np.uint8]) -> NDArray[np.float32]:
    """The numbers of rows, (rows, 32 * blocks), of (rows, blocks, 16) bytes and (rows, blocks) exponents.

    Every number is exact. Those of a block whose scale is not a number are not numbers either.
    """
    values = np.take(_BITS_OF_PAIRS, blocks).view(np.float32)  # (rows, blocks, 32)
    with np.errstate(over="ignore"):  # infinity, which the reader of weights refuses
        values *= _POWERS[scales][..., None]
    return values.reshape(len(blocks), -1)

"""MXFP4 as gpt-oss keeps it, in directories and in GGUF files: for checkpoints and tests."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

LEVELS = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
BLOCK_SIZE = 32
SMALLEST = 2.0**-100


def quantised(values: NDArray[np.float32]) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Blocks (..., blocks, 16) and scales (..., blocks) of the nearest numbers; the last axis is that of inputs."""
    blocks = values.astype(np.float64).reshape(*values.shape[:-1], -1, BLOCK_SIZE)
    largest = np.maximum(np.abs(blocks).max(axis=-1, keepdims=True), SMALLEST)
    exponents = np.floor(np.log2(largest)) - 2  # of the largest level, 4 to 6
    magnitudes = np.abs(blocks) / 2.0**exponents
    codes = np.abs(magnitudes[..., None] - LEVELS).argmin(axis=-1).astype(np.uint8)
    codes |= (blocks < 0).astype(np.uint8) << 3
    scales = (exponents[..., 0] + 127).astype(np.uint8)
    return codes[..., ::2] | codes[..., 1::2] << 4, np.ascontiguousarray(scales)


def dequantised(blocks: NDArray[np.uint8], scales: NDArray[np.uint8]) -> NDArray[np.float32]:
    """The values of blocks, (..., inputs)."""
    codes = np.stack([blocks & 15, blocks >> 4], axis=-1).reshape(*scales.shape, BLOCK_SIZE)
    values = np.where(codes & 8, -1, 1) * LEVELS[codes & 7] * 2.0 ** (scales[..., None].astype(np.float64) - 127)
    return values.reshape(*scales.shape[:-1], -1).astype(np.float32)


def as_in_gguf(blocks: NDArray[np.uint8], scales: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The bytes of a tensor in a GGUF file, (..., bytes): a scale, then input i beside input i + 16."""
    codes = np.stack([blocks & 15, blocks >> 4], axis=-1).reshape(*scales.shape, BLOCK_SIZE)
    halves = codes[..., :16] | codes[..., 16:] << 4
    return np.concatenate([scales[..., None], halves], axis=-1).reshape(*scales.shape[:-1], -1)

"""Converts the supported tensor types of GGUF files to float32."""

from __future__ import annotations

from math import prod

import gguf
import numpy as np
from gguf import GGMLQuantizationType as TensorType
from numpy.typing import NDArray

READABLE_TYPES = (
    TensorType.F32,
    TensorType.F16,
    TensorType.BF16,
    TensorType.Q4_0,
    TensorType.Q4_1,
    TensorType.Q5_0,
    TensorType.Q5_1,
    TensorType.Q8_0,
    TensorType.Q2_K,
    TensorType.Q3_K,
    TensorType.Q4_K,
    TensorType.Q5_K,
    TensorType.Q6_K,
    TensorType.IQ1_S,
    TensorType.IQ1_M,
    TensorType.IQ2_XXS,
    TensorType.IQ2_XS,
    TensorType.IQ2_S,
    TensorType.IQ3_XXS,
    TensorType.IQ3_S,
    TensorType.IQ4_NL,
    TensorType.IQ4_XS,
    TensorType.TQ1_0,
    TensorType.TQ2_0,
    TensorType.MXFP4,
)

# Values at a time, so that the intermediate arrays of the `gguf` package stay in the processor's cache.
CHUNK_VALUES = 1 << 18


def dequantize(stored: NDArray[np.uint8], kind: TensorType, shape: tuple[int, ...]) -> NDArray[np.float32]:
    """The values of the blocks in `stored`, all of one tensor of `shape`, whose `kind` is readable.

    The result is C-contiguous. Float32 is a view of `stored`; anything else takes the result's memory and no
    more than a few megabytes in addition.
    """
    if kind == TensorType.F32:
        return stored.view(np.float32).reshape(shape)
    values = np.empty(prod(shape), np.float32)
    block_size, block_bytes = gguf.GGML_QUANT_SIZES[kind]
    chunk_bytes = CHUNK_VALUES // block_size * block_bytes
    # A file may hold blocks whose scale is infinite or NaN; the reader checks the result.
    with np.errstate(all="ignore"):
        for number, start in enumerate(range(0, len(stored), chunk_bytes)):
            blocks = stored[start : start + chunk_bytes].reshape(1, -1)
            chunk = values[number * CHUNK_VALUES : (number + 1) * CHUNK_VALUES]
            chunk[:] = gguf.quants.dequantize(blocks, kind)[0]
    return values.reshape(shape)

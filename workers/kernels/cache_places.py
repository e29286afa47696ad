"""Where the keys and values of a block are in the arrays of a cache."""

from __future__ import annotations

from typing import Any

from cactus_actors.workers.kernels.cache_formats import (
    SCALES_BYTES,
    TOGETHER,
    CachedLayer,
    by_format,
    padded,
)


def place_of(cache: Any, layer: CachedLayer, head: int, slot: int) -> tuple[int, int, int]:
    """Offsets of keys, values and scales of the positions from a multiple of TOGETHER on.

    `head` counts the heads of a layer from its first block on. Those of int8 are in bytes, and the scales of values
    come after those of the keys of a block; floats have no scales.
    """
    raise NotImplementedError


def _place_in_floats(cache: Any, layer: CachedLayer, head: int, slot: int) -> tuple[int, int, int]:
    num_blocks, lanes = cache.keys.shape[1:]
    width = padded(layer.head_dim)
    key = (layer.dims_before * num_blocks + head * layer.head_dim) * lanes + slot
    value = (layer.columns_before * num_blocks + head * width) * cache.values.shape[2] + slot * width
    return key, value, 0


def _place_in_int8(cache: Any, layer: CachedLayer, head: int, slot: int) -> tuple[int, int, int]:
    num_blocks, lanes = cache.keys.shape[1:]
    width = padded(layer.head_dim)
    before = 2 * layer.columns_before + layer.heads_before * SCALES_BYTES
    start = (before * num_blocks + head * (2 * width + SCALES_BYTES)) * lanes
    keys = start + SCALES_BYTES * lanes
    return keys + slot * TOGETHER, keys + lanes * width + slot * width, start + slot * 4


by_format(place_of, _place_in_floats, _place_in_int8)

"""Where the positions of a chunk of attention are in the paged cache."""

from __future__ import annotations

from typing import Any

from cactus_actors.workers.kernels.aligned_memory import CACHE_LINE
from cactus_actors.workers.kernels.attention_tiles import CHUNK, CHUNK_VECTORS, RECORD_FLOATS, set_record
from cactus_actors.workers.kernels.cache_formats import CachedLayer, padded
from cactus_actors.workers.kernels.internal import internal
from cactus_actors.workers.kernels.simd import LANES, fetch

PLACES_FLOATS = CHUNK_VECTORS * RECORD_FLOATS
"""Floats of scratch memory for the places of a chunk."""


@internal(error_model="numpy")
def fetch_first_keys(
    cache: Any, layer: CachedLayer, kv_head: int, block_tables: Any, sequence: int, position: int, window: int
) -> None:
    """Prefetch the first keys that `attend` reads at that position."""
    num_blocks, lanes = cache.keys.shape[1:]
    block_size, head_dim = cache.values.shape[2], layer.head_dim
    low = max(position - window + 1, 0) if window > 0 else -window
    begin = (low // block_size * lanes + low % block_size) // CHUNK * CHUNK
    high = position // block_size * lanes + position % block_size + 1
    dims_of_line = max(1, CACHE_LINE // (lanes * cache.keys.itemsize))
    for lane in range(begin, min(begin + CHUNK, high), LANES):
        index, slot = divmod(lane, lanes)
        head = block_tables[sequence, index] * layer.num_heads + kv_head
        first_dim = layer.dims_before * num_blocks + head * head_dim
        for dim in range(first_dim, first_dim + head_dim, dims_of_line):
            fetch(cache.keys, dim * lanes + slot)


@internal(error_model="numpy")
def set_places(
    cache: Any,
    layer: CachedLayer,
    kv_head: int,
    block_tables: Any,
    sequence: int,
    low: int,
    high: int,
    chunk: int,
    scratch: Any,
    places: int,
) -> None:
    """Write the places of a chunk's vectors, of which those of lanes low..high-1 are read."""
    num_blocks, lanes = cache.keys.shape[1:]
    block_size, width = cache.values.shape[2], padded(layer.head_dim)
    first_dim, first_column = layer.dims_before * num_blocks, layer.columns_before * num_blocks
    first_head = layer.heads_before * num_blocks
    for number in range(CHUNK_VECTORS):
        # A vector outside of low..high-1 has the place of another: its own block may be anything.
        lane = min(max(chunk + number * LANES, low // LANES * LANES), (high - 1) // LANES * LANES)
        index, slot = divmod(lane, lanes)
        head = block_tables[sequence, index] * layer.num_heads + kv_head
        key = (first_dim + head * layer.head_dim) * lanes + slot
        value = (first_column + head * width) * block_size + slot * width
        count = min(block_size - slot, LANES)
        set_record(scratch, places + number * RECORD_FLOATS, key, value, (first_head + head) * lanes + slot, count)

"""Where the positions of a chunk of attention are in the paged cache."""

from __future__ import annotations

from typing import Any

from cactus_actors.workers.kernels.aligned_memory import CACHE_LINE
from cactus_actors.workers.kernels.attention_tiles import CHUNK, CHUNK_VECTORS, RECORD_FLOATS, set_record
from cactus_actors.workers.kernels.cache_formats import TOGETHER, CachedLayer, by_format, padded
from cactus_actors.workers.kernels.cache_places import place_of
from cactus_actors.workers.kernels.internal import internal
from cactus_actors.workers.kernels.simd import LANES, fetch

PLACES_FLOATS = CHUNK_VECTORS * RECORD_FLOATS
"""Floats of scratch memory for the places of a chunk."""


@internal(error_model="numpy")
def fetch_first_chunk(
    cache: Any, layer: CachedLayer, kv_head: int, block_tables: Any, sequence: int, position: int, window: int
) -> None:
    """Prefetch what `attend` reads first at that position."""
    lanes, block_size = cache.keys.shape[2], cache.states.shape[2]
    low = max(position - window + 1, 0) if window > 0 else -window
    begin = (low // block_size * lanes + low % block_size) // CHUNK * CHUNK
    high = position // block_size * lanes + position % block_size + 1
    for lane in range(begin, min(begin + CHUNK, high), LANES):
        index, slot = divmod(lane, lanes)
        _fetch_vector(cache, layer, block_tables[sequence, index] * layer.num_heads + kv_head, slot)


def _fetch_vector(cache: Any, layer: CachedLayer, head: int, slot: int) -> None:
    """Prefetch sixteen positions: keys of floats, whose values are prefetched meanwhile, or all of int8."""
    raise NotImplementedError


def _fetch_keys(cache: Any, layer: CachedLayer, head: int, slot: int) -> None:
    lanes = cache.keys.shape[2]
    key, _, _ = place_of(cache, layer, head, slot)
    dims_of_line = max(1, CACHE_LINE // (lanes * cache.keys.itemsize))
    for dim in range(0, layer.head_dim, dims_of_line):
        fetch(cache.keys, key + dim * lanes)


def _fetch_int8(cache: Any, layer: CachedLayer, head: int, slot: int) -> None:
    lanes = cache.keys.shape[2]
    key, value, scale = place_of(cache, layer, head, slot)
    fetch(cache.keys, scale)
    fetch(cache.keys, scale + 4 * lanes)
    for dim in range(0, padded(layer.head_dim), TOGETHER):
        fetch(cache.keys, key + dim * lanes)
        fetch(cache.keys, value + dim * LANES)


by_format(_fetch_vector, _fetch_keys, _fetch_int8)


@internal(error_model="numpy", forceinline=True)
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
    lanes, block_size = cache.keys.shape[2], cache.states.shape[2]
    # A vector outside of low..high-1 has the place of another: its own block may be anything.
    highest = (high - 1) // LANES * LANES
    lane = min(max(chunk, low // LANES * LANES), highest)
    index, slot = divmod(lane, lanes)
    for number in range(CHUNK_VECTORS):
        head = block_tables[sequence, index] * layer.num_heads + kv_head
        key, value, scale = place_of(cache, layer, head, slot)
        set_record(scratch, places + number * RECORD_FLOATS, key, value, scale, min(block_size - slot, LANES))
        if lane < chunk + (number + 1) * LANES <= highest:
            lane += LANES
            slot += LANES
            if slot == lanes:
                index, slot = index + 1, 0

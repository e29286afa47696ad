"""Where the positions of a chunk of attention are in the paged cache."""

from __future__ import annotations

from typing import Any

from cactus_actors.workers.kernels.aligned_memory import CACHE_LINE
from cactus_actors.workers.kernels.attention_tiles import (
    CHUNK_VECTORS,
    RECORD_FLOATS,
    get_pair,
    get_third,
    set_record,
)
from cactus_actors.workers.kernels.cache_formats import TOGETHER, CachedLayer, by_format, padded
from cactus_actors.workers.kernels.cache_places import place_of
from cactus_actors.workers.kernels.internal import internal
from cactus_actors.workers.kernels.simd import LANES, fetch

PLACES_FLOATS = CHUNK_VECTORS * RECORD_FLOATS
"""Floats of scratch memory for the places of a chunk."""


@internal(error_model="numpy")
def lanes_of(cache: Any, position: int, end: int, window: int) -> tuple[int, int]:
    """The lanes that a row attends to, up to position `end`: a block has whole vectors of them."""
    block_size, lanes = cache.states.shape[2], cache.keys.shape[2]
    low = max(position - window + 1, 0) if window > 0 else -window
    return low // block_size * lanes + low % block_size, end // block_size * lanes + end % block_size + 1


def fetch_vectors(cache: Any, layer: CachedLayer, scratch: Any, places: int, first: int) -> None:
    """Prefetch the vectors of a chunk from `first` on: keys of floats, or keys and values of int8."""
    raise NotImplementedError


def _fetch_floats(cache: Any, layer: CachedLayer, scratch: Any, places: int, first: int) -> None:
    lanes = cache.keys.shape[2]
    dims_of_line = max(1, CACHE_LINE // (lanes * cache.keys.itemsize))
    for record in range(places + first * RECORD_FLOATS, places + PLACES_FLOATS, RECORD_FLOATS):
        key, _ = get_pair(scratch, record)
        for dim in range(0, layer.head_dim, dims_of_line):
            fetch(cache.keys, key + dim * lanes)


def _fetch_int8(cache: Any, layer: CachedLayer, scratch: Any, places: int, first: int) -> None:
    lanes = cache.keys.shape[2]
    for record in range(places + first * RECORD_FLOATS, places + PLACES_FLOATS, RECORD_FLOATS):
        key, value = get_pair(scratch, record)
        scale = get_third(scratch, record)
        fetch(cache.keys, scale)
        fetch(cache.keys, scale + 4 * lanes)
        for dim in range(0, padded(layer.head_dim), TOGETHER):
            fetch(cache.keys, key + dim * lanes)
            fetch(cache.keys, value + dim * LANES)


by_format(fetch_vectors, _fetch_floats, _fetch_int8)


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

"""Grouped-query attention over the paged cache, with an online softmax.

Rows and heads that share a key-value head process their positions together, in chunks of 64 at absolute
multiples (Milakov and Gimelshein 2018). Results of rows are independent: scores and sums over positions are
computed in one order, and positions outside a row's range never enter its result, so memory after the end of a
sequence may hold any bits.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cactus_actors.workers.kernels.aligned_memory import CACHE_LINE, round_up
from cactus_actors.workers.kernels.attention_scores import score
from cactus_actors.workers.kernels.attention_tiles import (
    CHUNK,
    CHUNK_VECTORS,
    MAX_HEIGHT,
    RECORD_FLOATS,
    get_range,
    set_record,
)
from cactus_actors.workers.kernels.attention_values import mix
from cactus_actors.workers.kernels.attention_weights import weigh
from cactus_actors.workers.kernels.cache_formats import CachedLayer, padded
from cactus_actors.workers.kernels.internal import internal
from cactus_actors.workers.kernels.simd import (
    LANES,
    broadcast,
    fetch,
    hyperbolic_tangent,
    load,
    store,
    store_first,
    sum_of_lanes,
)

GROUP = 32
"""Rows times heads that read the cache together."""

LOG2_E = 1 / math.log(2)


PLACES_FLOATS = CHUNK_VECTORS * RECORD_FLOATS


def attention_scratch(head_dim: int) -> int:
    """Floats of scratch that one thread's `attend` needs, a multiple of 16."""
    each = 2 * round_up(head_dim, LANES) + CHUNK + 2 * LANES + RECORD_FLOATS
    return 2 * PLACES_FLOATS + GROUP * each


@internal(error_model="numpy")
def attend(
    cache: Any,
    layer: CachedLayer,
    kv_head: int,
    block_tables: Any,  # (sequences, max_blocks) int32
    sequence: int,
    queries: Any,  # float32; readable for 15 elements after the last head
    query_start: int,
    query_width: int,
    num_rows: int,
    num_heads: int,
    first_position: int,
    ends: Any,  # (tokens,) int32
    first_end: int,
    window: int,
    scale: float,
    softcap: float,
    sinks: Any,  # float32
    sinks_start: int,  # -1 for none
    scratch: Any,  # float32, attention_scratch(head_dim) from scratch_start on, a multiple of 16
    scratch_start: int,
    out: Any,
    out_start: int,
    out_width: int,
) -> None:
    """out = softmax(scale * q . K) . V for consecutive tokens of a sequence and heads of one key-value head.

    Row r is at position first_position + r and attends to the positions up to ends[first_end + r], which is its
    own in causal attention, and with a `window` above 0 to no more than that many up to its own. A `window` below 0
    is minus the first position that is attended to. Ends do not fall from row to row, and none is before its row.
    Row r and head h have their query at query_start + r * query_width + h * head_dim and their result likewise in
    `out`. With a `softcap` scores become softcap * tanh(score / softcap). The sink of head h, at sinks_start + h, is a
    score without a value: it adds e^sink to what a row's weights are divided by.
    """
    head_dim, lanes = layer.head_dim, cache.keys.shape[2]
    block_size, width = cache.values.shape[2], padded(layer.head_dim)
    # Powers of two are cheaper than those of e; a cap wants the plain score over it.
    factor = broadcast(np.float32(scale / softcap if softcap > 0 else scale * LOG2_E))
    ranges = scratch_start + 2 * PLACES_FLOATS
    packed = ranges + GROUP * RECORD_FLOATS
    sums = packed + GROUP * width
    scores = sums + GROUP * width
    states = scores + GROUP * CHUNK

    num_items = num_rows * num_heads
    for first_item in range(0, num_items, GROUP):
        count = min(GROUP, num_items - first_item)
        for item in range(count):
            row, head = divmod(first_item + item, num_heads)
            position = first_position + row
            # Ranges are counted in lanes: a block has whole vectors of them.
            low = max(position - window + 1, 0) if window > 0 else -window
            low = low // block_size * lanes + low % block_size
            end = ends[first_end + row]
            high = end // block_size * lanes + end % block_size + 1
            set_record(scratch, ranges + item * RECORD_FLOATS, low, high, 0, 0)
            query, state = query_start + row * query_width + head * head_dim, states + item * 2 * LANES
            _begin(scratch, packed + item * width, sums + item * width, width, state, queries, query, factor)
            if sinks_start >= 0:
                _begin_with_sink(scratch, state, np.float32(sinks[sinks_start + head] * np.float32(LOG2_E)))

        low, _ = get_range(scratch, ranges)
        _, high = get_range(scratch, ranges + (count - 1) * RECORD_FLOATS)
        places, next_places = scratch_start, scratch_start + PLACES_FLOATS
        begin = low // CHUNK * CHUNK
        _set_places(cache, layer, kv_head, block_tables, sequence, low, high, begin, scratch, places)
        for chunk in range(begin, high, CHUNK):
            following = places
            if chunk + CHUNK < high:
                following = next_places
                _set_places(
                    cache,
                    layer,
                    kv_head,
                    block_tables,
                    sequence,
                    low,
                    high,
                    chunk + CHUNK,
                    scratch,
                    following,
                )
            first = max(low - chunk, 0) // LANES
            last = min((high - chunk + LANES - 1) // LANES, CHUNK_VECTORS)
            item = 0
            while item < count:
                # The rest is cut into tiles of about one height: single rows load too much per product.
                tiles = (count - item + MAX_HEIGHT - 1) // MAX_HEIGHT
                height = (count - item + tiles - 1) // tiles
                query, weights, total = packed + item * width, scores + item * CHUNK, sums + item * width
                limits, state = ranges + item * RECORD_FLOATS, states + item * 2 * LANES
                score(cache, scratch, places, first, last, height, head_dim, query, width, weights)
                if softcap > 0:
                    _cap(scratch, weights, height * CHUNK, np.float32(softcap * LOG2_E))
                weigh(cache, scratch, places, chunk, height, limits, weights, total, width, state)
                _mix_tile(cache, scratch, places, following, chunk, height, limits, weights, total, width)
                item += height
            places, next_places = next_places, places

        for item in range(count):
            row, head = divmod(first_item + item, num_heads)
            mass, target = states + (2 * item + 1) * LANES, out_start + row * out_width + head * head_dim
            _finish(scratch, sums + item * width, mass, head_dim, out, target)


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
def _set_places(
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


@internal(error_model="numpy")
def _mix_tile(
    cache: Any,
    scratch: Any,
    places: int,
    following: int,
    chunk: int,
    height: int,
    ranges: int,
    weights: int,
    sums: int,
    width: int,
) -> None:
    # Rows are mixed together where all of them attend and alone at their ends: nothing is multiplied by the
    # weight of a position outside of a row's range, which may not be finite.
    low, _ = get_range(scratch, ranges + (height - 1) * RECORD_FLOATS)
    _, high = get_range(scratch, ranges)
    low, high = max(low - chunk, 0), min(high - chunk, CHUNK)
    if low >= high:
        low = high = CHUNK
    for end in range(2):
        for row in range(height):
            start, stop = get_range(scratch, ranges + row * RECORD_FLOATS)
            start, stop = max(start - chunk, 0), min(stop - chunk, CHUNK)
            if end == 0:
                stop = min(stop, low)
            else:
                start = high
            if start < stop:
                own_weights, own_sums = weights + row * CHUNK, sums + row * width
                mix(cache, scratch, places, following, start, stop, 1, width, own_weights, own_sums)
        if end == 0 and low < high:
            mix(cache, scratch, places, following, low, high, height, width, weights, sums)


@internal(error_model="numpy")
def _begin(scratch: Any, packed: int, sums: int, width: int, state: int, queries: Any, query: int, factor: Any) -> None:
    zero = broadcast(np.float32(0))
    for index in range(0, width, LANES):
        store(scratch, packed + index, load(queries, query + index) * factor)
        store(scratch, sums + index, zero)
    store(scratch, state, broadcast(np.float32(-np.inf)))
    store(scratch, state + LANES, zero)


@internal(error_model="numpy")
def _begin_with_sink(scratch: Any, state: int, sink: Any) -> None:
    """The sink is the largest score so far, of weight 1; lanes of the mass are added up at the end."""
    store(scratch, state, broadcast(sink))
    store_first(scratch, state + LANES, broadcast(np.float32(1)), 1)


@internal(error_model="numpy")
def _cap(scratch: Any, scores: int, count: int, cap: Any) -> None:
    for index in range(scores, scores + count, LANES):
        store(scratch, index, hyperbolic_tangent(load(scratch, index)) * broadcast(cap))


@internal(error_model="numpy")
def _finish(scratch: Any, sums: int, mass: int, head_dim: int, out: Any, target: int) -> None:
    share = broadcast(np.float32(1) / sum_of_lanes(load(scratch, mass)))
    for index in range(0, head_dim, LANES):
        store_first(out, target + index, load(scratch, sums + index) * share, head_dim - index)

"""Grouped-query attention over the paged cache, with an online softmax.

Rows and heads that share a key-value head process their positions together, in chunks of 64 at absolute
multiples (Milakov and Gimelshein 2018). Results of rows are independent: scores and sums over positions are
computed in one order, and positions outside a row's range never enter its result, so memory after the end of a
sequence may hold any bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cactus_actors.workers.kernels.attention_floats import visit_as_floats
from cactus_actors.workers.kernels.attention_int8 import visit_as_int8
from cactus_actors.workers.kernels.attention_items import GROUP, LOG2_E, Items, items_at, range_of
from cactus_actors.workers.kernels.attention_places import PLACES_FLOATS, fetch_vectors, lanes_of, set_places
from cactus_actors.workers.kernels.attention_queries import pack_query
from cactus_actors.workers.kernels.attention_tiles import CHUNK, CHUNK_VECTORS, RECORD_FLOATS, get_third, set_record
from cactus_actors.workers.kernels.cache_formats import CachedLayer, by_format, padded
from cactus_actors.workers.kernels.internal import internal
from cactus_actors.workers.kernels.simd import LANES, broadcast, load, store, store_first, sum_of_lanes


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

    See `begin` for the rows.
    """
    items = items_at(scratch_start, layer.head_dim)
    num_items = num_rows * num_heads
    for first_item in range(0, num_items, GROUP):
        count = min(GROUP, num_items - first_item)
        begin(
            cache,
            layer,
            scratch,
            items,
            0,
            first_item,
            count,
            queries,
            query_start,
            query_width,
            num_heads,
            first_position,
            ends,
            first_end,
            window,
            scale,
            softcap,
            sinks,
            sinks_start,
            out_start,
            out_width,
        )
        low, high = range_of(scratch, items, 0, count)
        advance(cache, layer, kv_head, block_tables, sequence, low, high, scratch, items, 0, count, softcap)
        finish(layer, scratch, items, count, out)


@internal(error_model="numpy")
def begin(
    cache: Any,
    layer: CachedLayer,
    scratch: Any,
    items: Items,
    place: int,
    first_item: int,
    count: int,
    queries: Any,
    query_start: int,
    query_width: int,
    num_heads: int,
    first_position: int,
    ends: Any,
    first_end: int,
    window: int,
    scale: float,
    softcap: float,
    sinks: Any,
    sinks_start: int,
    out_start: int,
    out_width: int,
) -> None:
    """Begin the attention of items first_item.. of consecutive tokens of a sequence, in places `place`..

    Item r * num_heads + h is head h of row r, which is at position first_position + r. It attends to the positions
    up to ends[first_end + r], which is its own in causal attention, and with a `window` above 0 to no more than that
    many up to its own. A `window` below 0 is minus the first position that is attended to. Ends do not fall from row
    to row, and none is before its row. Row r and head h have their query at query_start + r * query_width + h *
    head_dim and their result likewise in `out`. With a `softcap` scores become softcap * tanh(score / softcap). The
    sink of head h, at sinks_start + h, is a score without a value: it adds e^sink to what a row's weights are divided
    by.
    """
    head_dim, width = layer.head_dim, padded(layer.head_dim)
    # Powers of two are cheaper than those of e; a cap wants the plain score over it.
    factor = np.float32(scale / softcap if softcap > 0 else scale * LOG2_E)
    row, head = divmod(first_item, num_heads)
    low, high = lanes_of(cache, first_position + row, ends[first_end + row], window)
    for at in range(place, place + count):
        if head == num_heads:
            row, head = row + 1, 0
            low, high = lanes_of(cache, first_position + row, ends[first_end + row], window)
        state = items.states + at * 2 * LANES
        query, target = query_start + row * query_width + head * head_dim, out_start + row * out_width + head * head_dim
        set_record(scratch, items.ranges + at * RECORD_FLOATS, low, high, target, 0)
        pack_query(cache, scratch, items.queries + at * width, width, queries, query, head_dim, factor)
        _begin(scratch, items.sums + at * width, width, state)
        if sinks_start >= 0:
            _begin_with_sink(scratch, state, np.float32(sinks[sinks_start + head] * np.float32(LOG2_E)))
        head += 1


def visit_chunk(
    cache: Any,
    layer: CachedLayer,
    scratch: Any,
    items: Items,
    places: int,
    following: int,
    chunk: int,
    first: int,
    last: int,
    first_item: int,
    count: int,
    softcap: float,
) -> None:
    """Attend to vectors first..last-1 of the chunk at `places`, whose first lane is `chunk`; `following` is next."""
    raise NotImplementedError


by_format(visit_chunk, visit_as_floats, visit_as_int8)


@internal(error_model="numpy")
def advance(
    cache: Any,
    layer: CachedLayer,
    kv_head: int,
    block_tables: Any,
    sequence: int,
    low: int,
    high: int,
    scratch: Any,
    items: Items,
    first_item: int,
    count: int,
    softcap: float,
) -> None:
    """Attend to lanes low..high-1 of a sequence: `low` is that of the items or a multiple of CHUNK, `high` likewise.

    Items of other sequences have the same blocks there, and attend to all of these lanes. The last chunk is computed
    while the one at `items.after` is fetched.
    """
    places, next_places = items.places, items.places + PLACES_FLOATS
    start = low // CHUNK * CHUNK
    if start < high:
        set_places(cache, layer, kv_head, block_tables, sequence, low, high, start, scratch, places)
    for chunk in range(start, high, CHUNK):
        first = max(low - chunk, 0) // LANES
        last = min((high - chunk + LANES - 1) // LANES, CHUNK_VECTORS)
        following = next_places
        if chunk + CHUNK < high:
            set_places(cache, layer, kv_head, block_tables, sequence, low, high, chunk + CHUNK, scratch, following)
        else:
            following = items.after
            fetch_vectors(cache, layer, scratch, following, last)  # the others are fetched meanwhile
        visit_chunk(cache, layer, scratch, items, places, following, chunk, first, last, first_item, count, softcap)
        places, next_places = next_places, places


@internal(error_model="numpy")
def finish(layer: CachedLayer, scratch: Any, items: Items, count: int, out: Any) -> None:
    """Write the results of items 0..count-1."""
    width = padded(layer.head_dim)
    for item in range(count):
        mass, target = items.states + (2 * item + 1) * LANES, get_third(scratch, items.ranges + item * RECORD_FLOATS)
        _finish(scratch, items.sums + item * width, mass, layer.head_dim, out, target)


@internal(error_model="numpy")
def _begin(scratch: Any, sums: int, width: int, state: int) -> None:
    zero = broadcast(np.float32(0))
    for index in range(0, width, LANES):
        store(scratch, sums + index, zero)
    store(scratch, state, broadcast(np.float32(-np.inf)))
    store(scratch, state + LANES, zero)


@internal(error_model="numpy")
def _begin_with_sink(scratch: Any, state: int, sink: Any) -> None:
    """The sink is the largest score so far, of weight 1; lanes of the mass are added up at the end."""
    store(scratch, state, broadcast(sink))
    store_first(scratch, state + LANES, broadcast(np.float32(1)), 1)


@internal(error_model="numpy")
def _finish(scratch: Any, sums: int, mass: int, head_dim: int, out: Any, target: int) -> None:
    share = broadcast(np.float32(1) / sum_of_lanes(load(scratch, mass)))
    for index in range(0, head_dim, LANES):
        store_first(out, target + index, load(scratch, sums + index) * share, head_dim - index)
